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
  let used = unitsAfter(log, expired, state.used);

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
    if (used === MOST) return log.timeAt(countTooMany(log, limit - cost) - 1) + windowMs - atMs;
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
  return unitsAfter(log, countExpired(log, windowMs, atMs), state.used);
}

/** What is left of the log's `units` without its oldest `count` charges. */
function unitsAfter(log: ChargeLog, count: number, units: number): number {
  if (units === MOST) return log.unitsFrom(count);
  let left = units;
  for (let i = 0; i < count; i += 1) left -= log.costAt(i);
  return left;
}

/** How many of the oldest charges must leave for at most `units` to be left: found from the newest on, without a sum. */
function countTooMany(log: ChargeLog, units: number): number {
  let count = log.length;
  let left = units;
  while (count > 0 && log.costAt(count - 1) <= left) {
    count -= 1;
    left -= log.costAt(count);
  }
  return count;
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

/** Debts may come to more. A sum held here does not say what is left when one of them leaves. */
const MOST = Number.MAX_SAFE_INTEGER;
