import type { Decision } from '../decision.ts';
import { addUpToSafe } from './exact.ts';
import type { State } from './state.ts';

/**
 * The meter that a token bucket and a leaky bucket have in common: units in use, of which `rate` come back each
 * interval. It counts in parts, of which a unit has `intervalMs`, so that a millisecond gives back `rate` of them.
 *
 * Sums are compared from the side of the free parts: capacity and charge are each below 2^53, their sum may not be.
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
  const before = state.used === 0 ? 0 : Math.max(0, state.used - rate * (atMs - state.atMs));
  const size = capacity * intervalMs;
  const charge = cost * intervalMs;
  let used = before;

  const never = cost > capacity || capacity === 0;
  const allowed = force || (!never && (cost === 0 || charge <= size - before));
  if (allowed && cost > 0) {
    used = addUpToSafe(before, charge);
    state.atMs = atMs;
    state.used = used;
  }
  return {
    allowed,
    limit: capacity,
    remaining: Math.max(0, Math.floor((size - used) / intervalMs)),
    retryAfterMs: allowed
      ? 0
      : never
        ? Number.POSITIVE_INFINITY
        : Math.ceil((charge - (size - before)) / rate),
    resetAtMs: capacity === 0 ? atMs : atMs + Math.ceil(used / rate),
    delayMs: allowed && shape && cost > 0 ? Math.ceil(before / rate) : 0,
    blocked: false,
    atMs,
  };
}
