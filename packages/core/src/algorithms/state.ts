import type { ChargeLog } from './charge-log.ts';

/**
 * What is remembered of one subject. It holds no limit, capacity or rate: those come with each charge. An algorithm
 * is handed a copy, and leaves in it what an admitted charge makes of it.
 */
export interface State {
  /** When the last charge was admitted; `-Infinity` before the first. */
  atMs: number;
  /**
   * What was in use at `atMs`: units of the current window, or a bucket's parts (one unit is `intervalMs` parts, and
   * each millisecond gives `refillRate` or `leakRate` of them back, so that no rate needs a fraction).
   */
  used: number;
  /** Sliding window counter: the units of the window before. Fixed window from the first request: when it began. */
  earlier: number;
  /** Sliding window log: the admitted charges. */
  log: ChargeLog | undefined;
  /** When the block ends; 0 where there is none. */
  blockedUntilMs: number;
  /** When the clock was first seen more than a window behind `atMs`; 0 where it is not. */
  behindSinceMs: number;
}

export function emptyState(): State {
  return {
    atMs: Number.NEGATIVE_INFINITY,
    used: 0,
    earlier: 0,
    log: undefined,
    blockedUntilMs: 0,
    behindSinceMs: 0,
  };
}

export function clearState(state: State): void {
  state.atMs = Number.NEGATIVE_INFINITY;
  state.used = 0;
  state.earlier = 0;
  state.log = undefined;
  state.blockedUntilMs = 0;
  state.behindSinceMs = 0;
}
