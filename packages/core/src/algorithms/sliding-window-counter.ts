import type { Decision } from '../decision.ts';
import type { SlidingWindowCounterQuota } from '../quota.ts';
import { addUpToSafe, multiplyDivideCeil, multiplyDivideFloor, windowStart } from './exact.ts';
import type { State } from './state.ts';

/**
 * Admits a charge if the current clock-aligned window's units, and as much of the window before as the last `W`
 * milliseconds still overlap, rounded down, stay within the limit.
 */
export function slidingWindowCounter(
  state: State,
  quota: SlidingWindowCounterQuota,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  const { limit, windowMs } = quota;
  const atMs = Math.max(nowMs, state.atMs);
  const startMs = windowStart(atMs, windowMs);
  const lastStartMs = windowStart(state.atMs, windowMs);
  const elapsedMs = atMs - startMs;
  const previous = previousUnits(state, lastStartMs, startMs, windowMs);
  let current = lastStartMs === startMs ? state.used : 0;
  const carried = multiplyDivideFloor(previous, windowMs - elapsedMs, windowMs);

  const allowed = force || (cost === 0 ? limit > 0 : carried + current + cost <= limit);
  if (allowed && cost > 0) {
    current = addUpToSafe(current, cost);
    state.atMs = atMs;
    state.used = current;
    state.earlier = previous;
  }
  const never = cost > limit || limit === 0;
  return {
    allowed,
    limit,
    remaining: Math.max(0, limit - carried - current),
    retryAfterMs: allowed ? 0 : never ? Number.POSITIVE_INFINITY : untilAtMostMs(limit - cost),
    resetAtMs: limit === 0 ? atMs : atMs + untilAtMostMs(0),
    delayMs: 0,
    blocked: false,
    atMs,
  };

  /** Until no more than `units` count: within this window, or in the next, where this one is the window before. */
  function untilAtMostMs(units: number): number {
    return current <= units
      ? Math.max(0, windowMs - overlapMs(previous, units - current, windowMs) - elapsedMs)
      : windowMs - elapsedMs + windowMs - overlapMs(current, units, windowMs);
  }
}

/** The units that count at `atMs`. */
export function unitsInWindows(state: Readonly<State>, windowMs: number, atMs: number): number {
  const startMs = windowStart(atMs, windowMs);
  const lastStartMs = windowStart(state.atMs, windowMs);
  const previous = previousUnits(state, lastStartMs, startMs, windowMs);
  const current = lastStartMs === startMs ? state.used : 0;
  return current + multiplyDivideFloor(previous, startMs + windowMs - atMs, windowMs);
}

/** The units of the window before the one that began at `startMs`. */
function previousUnits(
  state: Readonly<State>,
  lastStartMs: number,
  startMs: number,
  windowMs: number,
): number {
  if (lastStartMs === startMs) return state.earlier;
  return lastStartMs === startMs - windowMs ? state.used : 0;
}

/** The longest overlap with a window of `count` units in which they count for no more than `units`. */
function overlapMs(count: number, units: number, windowMs: number): number {
  // floor(count * overlap / W) <= units, so overlap < (units + 1) * W / count.
  if (count <= units) return windowMs;
  return multiplyDivideCeil(units + 1, windowMs, count) - 1;
}
