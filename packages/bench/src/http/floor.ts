import { limitFor, type Outcome } from '../decisions/subject.ts';

/** How long a window is, in seconds: no unit comes back during a run. */
export const WINDOW_S = 1_000_000;

export interface FloorDecision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** In seconds since 1970. */
  readonly reset: number;
  /** In seconds. */
  readonly retryAfter: number;
}

/** The least that tells a client what it should know: a bucket in a `Map` and an array, and what headers say of it. */
export function makeFloor(outcome: Outcome): (key: string) => FloorDecision {
  const limit = limitFor(outcome);
  const tokensPerMs = limit / (WINDOW_S * 1000);
  const slots = new Map<string, number>();
  const state = new Float64Array(2000);
  return (key) => {
    const nowMs = Date.now();
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = slots.size * 2;
      slots.set(key, slot);
    }
    const sinceMs = state[slot + 1] as number;
    const before = Math.max(0, (state[slot] as number) - (nowMs - sinceMs) * tokensPerMs);
    const allowed = before + 1 <= limit;
    const used = allowed ? before + 1 : before;
    if (allowed) {
      state[slot] = used;
      state[slot + 1] = nowMs;
    }
    return {
      allowed,
      limit,
      remaining: Math.floor(limit - used),
      reset: Math.ceil((nowMs + used / tokensPerMs) / 1000),
      retryAfter: Math.ceil((before + 1 - limit) / tokensPerMs / 1000),
    };
  };
}
