import type { Decision } from '../decision.ts';
import { addUpToSafe } from './exact.ts';
import type { State } from './state.ts';

/**
 * The meter that a token bucket and a leaky bucket have in common: units in use, of which `rate` come back each
 * interval. It counts in parts, of which a unit has `intervalMs`, so that a millisecond gives back `rate` of them.
 *
 * Sums are compared from the side of the free parts: capacity and charge are each below 2^53, their sum may not be.
 * There are two answers, each without conditions of the other, since this is the hottest of all functions.
 */
export function bucket(
  state: State,
  capacity: number,
  intervalMs: number,
  rate: number,
  shape: boolean,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  const atMs = Math.max(nowMs, state.atMs);
  const given = rate * (atMs - state.atMs);
  const before = state.used > given ? state.used - given : 0;
  const free = capacity * intervalMs - before;
  const charge = cost * intervalMs;
  const never = cost > capacity || capacity === 0;
  if (force || (!never && (cost === 0 || charge <= free))) {
    let used = before;
    if (cost > 0) {
      used = addUpToSafe(before, charge);
      state.atMs = atMs;
      state.used = used;
    }
    const left = Math.max(0, floor((capacity * intervalMs - used) / intervalMs));
    return {
      allowed: true,
      limit: capacity,
      remaining: left,
      retryAfterMs: 0,
      resetAtMs: capacity === 0 ? atMs : atMs + ceil(used / rate),
      delayMs: shape && cost > 0 ? ceil(before / rate) : 0,
      blocked: false,
      atMs,
    };
  }
  const left = Math.max(0, floor(free / intervalMs));
  return {
    allowed: false,
    limit: capacity,
    remaining: left,
    retryAfterMs: never ? Number.POSITIVE_INFINITY : ceil((charge - free) / rate),
    resetAtMs: capacity === 0 ? atMs : atMs + ceil(before / rate),
    delayMs: 0,
    blocked: false,
    atMs,
  };
}

const { floor, ceil } = Math;
