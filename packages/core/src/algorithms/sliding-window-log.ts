import type { Decision } from '../decision.ts';
import type { SlidingWindowLogQuota } from '../quota.ts';
import { ChargeLog } from './charge-log.ts';
import { addUpToSafe } from './exact.ts';
import type { State } from './state.ts';

/** Admits a charge if the units of all charges admitted in `(T - W, T]` stay within the limit. */
export function slidingWindowLog(
  state: State,
  quota: SlidingWindowLogQuota,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  const { limit, windowMs } = quota;
  const atMs = Math.max(nowMs, state.atMs);
  const log = state.log ?? ChargeLog.empty;
  const expired = countExpired(log, windowMs, atMs);
  let used = state.used - unitsOf(log, expired);

  const allowed = force || (cost === 0 ? limit > 0 : used + cost <= limit);
  const never = cost > limit || limit === 0;
  let retryAfterMs = 0;
  if (!allowed) {
    retryAfterMs = never ? Number.POSITIVE_INFINITY : waitMs();
  } else if (cost > 0) {
    const after = addUpToSafe(used, cost);
    state.atMs = atMs;
    state.used = after;
    state.log = log.add(expired, atMs, after - used);
    used = after;
  }
  return {
    allowed,
    limit,
    remaining: Math.max(0, limit - used),
    retryAfterMs,
    resetAtMs: limit === 0 ? atMs : emptyAtMs(state.log ?? log, windowMs, atMs),
    delayMs: 0,
    blocked: false,
    atMs,
  };

  /** Until enough of the oldest charges have left the window. */
  function waitMs(): number {
    let left = used;
    let index = expired;
    while (left + cost > limit) {
      left -= log.costAt(index);
      index += 1;
    }
    return log.timeAt(index - 1) + windowMs - atMs;
  }
}

/** The units of charges admitted in `(atMs - windowMs, atMs]`. */
export function unitsInLog(state: Readonly<State>, windowMs: number, atMs: number): number {
  const log = state.log ?? ChargeLog.empty;
  return state.used - unitsOf(log, countExpired(log, windowMs, atMs));
}

/** The units of the oldest `count` charges. */
function unitsOf(log: ChargeLog, count: number): number {
  let units = 0;
  for (let i = 0; i < count; i += 1) units += log.costAt(i);
  return units;
}

function countExpired(log: ChargeLog, windowMs: number, atMs: number): number {
  let expired = 0;
  while (expired < log.length && log.timeAt(expired) <= atMs - windowMs) expired += 1;
  return expired;
}

/** When the newest charge leaves the window. */
function emptyAtMs(log: ChargeLog, windowMs: number, atMs: number): number {
  return log.length === 0 ? atMs : Math.max(atMs, log.timeAt(log.length - 1) + windowMs);
}
