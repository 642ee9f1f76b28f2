import type { Shape } from './carry-over.ts';
import { windowStart } from './exact.ts';
import type { State } from './state.ts';

/**
 * Gives `cost` units, charged at `atMs`, back to the place that they were taken from: the window or the log entry of
 * that time if the state still has it, a bucket down to empty. What was used never goes below nothing.
 *
 * It needs no clock: what a window that has ended holds counts for nothing anyway, and a bucket comes to the same
 * whether the units leave it before or after the time that has passed since.
 */
export function refund(state: State, shape: Shape, cost: number, atMs: number): void {
  switch (shape.algorithm) {
    case 'fixed-window': {
      const startMs = shape.byClock ? windowStart(state.atMs, shape.periodMs) : state.earlier;
      if (atMs >= startMs && atMs < startMs + shape.periodMs) state.used = less(state.used, cost);
      break;
    }
    case 'sliding-window-log': {
      if (state.log === undefined) break;
      const { log, units } = state.log.without(atMs, cost);
      state.log = log;
      // A sum held at 2^53 - 1 may have been more: then what is left is added up.
      state.used = state.used === Number.MAX_SAFE_INTEGER ? log.unitsFrom(0) : state.used - units;
      break;
    }
    case 'sliding-window-counter': {
      const startMs = windowStart(state.atMs, shape.periodMs);
      const chargedMs = windowStart(atMs, shape.periodMs);
      if (chargedMs === startMs) state.used = less(state.used, cost);
      if (chargedMs === startMs - shape.periodMs) state.earlier = less(state.earlier, cost);
      break;
    }
    default:
      state.used = less(state.used, cost * shape.periodMs);
  }
}

function less(used: number, units: number): number {
  return Math.max(0, used - units);
}
