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
  let used = unitsInLog(state, windowMs, atMs);

  const allowed = force || (cost === 0 ? limit > 0 : used + cost <= limit);
  const never = cost > limit || limit === 0;
  let retryAfterMs = 0;
  if (!allowed) {
    retryAfterMs = never ? Number.POSITIVE_INFINITY : waitMs();
  } else if (cost > 0) {
    used = addUpToSafe(used, cost);
    state.atMs = atMs;
    state.used = used;
    state.log = log.add(expired, atMs, cost);
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
  const expired = countExpired(log, windowMs, atMs);
  let used = state.used;
  for (let i = 0; i < expired; i += 1) used -= log.costAt(i);
  return used;
}

function countExpired(log: ChargeLog, windowMs: number, atMs: number): number {
  let expired = 0;
  while (expired < log.length && log.timeAt(expired) <= atMs - windowMs) expired += 1;
  return expired;
}

/** When the newest charge that still has units leaves the window. */
function emptyAtMs(log: ChargeLog, windowMs: number, atMs: number): number {
  for (let i = log.length - 1; i >= 0; i -= 1) {
    if (log.costAt(i) > 0) return Math.max(atMs, log.timeAt(i) + windowMs);
  }
  return atMs;
}
