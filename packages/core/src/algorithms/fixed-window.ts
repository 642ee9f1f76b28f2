import type { Decision } from '../decision.ts';
import type { FixedWindowQuota } from '../quota.ts';
import { addUpToSafe, windowStart } from './exact.ts';
import type { State } from './state.ts';

/** Admits a charge if the units of the current window stay within the limit. */
export function fixedWindow(
  state: State,
  quota: FixedWindowQuota,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  const { limit, windowMs } = quota;
  const atMs = Math.max(nowMs, state.atMs);
  const byClock = quota.align !== 'first-request';
  const running = windowRuns(state, windowMs, byClock, atMs);
  const startMs = byClock ? windowStart(atMs, windowMs) : running ? state.earlier : atMs;
  let used = running ? state.used : 0;

  const allowed = force || (cost === 0 ? limit > 0 : used + cost <= limit);
  if (allowed && cost > 0) {
    used = addUpToSafe(used, cost);
    state.atMs = atMs;
    state.used = used;
    if (!byClock) state.earlier = startMs;
  }
  const never = cost > limit || limit === 0;
  const empty = used === 0 || limit === 0;
  return {
    allowed,
    limit,
    remaining: Math.max(0, limit - used),
    retryAfterMs: allowed ? 0 : never ? Number.POSITIVE_INFINITY : startMs + windowMs - atMs,
    resetAtMs: empty && !byClock ? atMs : startMs + windowMs,
    delayMs: 0,
    blocked: false,
    atMs,
  };
}

/** Whether the window of the last admitted charge still runs at `atMs`. */
export function windowRuns(
  state: Readonly<State>,
  windowMs: number,
  byClock: boolean,
  atMs: number,
): boolean {
  const startMs = byClock ? windowStart(state.atMs, windowMs) : state.earlier;
  return state.atMs >= 0 && atMs < startMs + windowMs;
}
