import { followClockBack } from './algorithms/carry-over.ts';
import { fixedWindow } from './algorithms/fixed-window.ts';
import { leakyBucket } from './algorithms/leaky-bucket.ts';
import { slidingWindowCounter } from './algorithms/sliding-window-counter.ts';
import { slidingWindowLog } from './algorithms/sliding-window-log.ts';
import type { State } from './algorithms/state.ts';
import { tokenBucket } from './algorithms/token-bucket.ts';
import type { Decision } from './decision.ts';
import { invalid } from './errors.ts';
import { limitOf, type Quota } from './quota.ts';

/**
 * Decides one charge on a copy of its subject's state: the quota's algorithm, the clock's backward steps and blocks.
 * The copy then holds what the charge makes of it; what of that is kept is for the store to say, which knows whether
 * the whole group is admitted.
 */
export function decide(
  state: State,
  quota: Quota,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  if (state.atMs > nowMs) followClockBack(state, quota, nowMs);
  if (state.blockedUntilMs > nowMs && state.blockedUntilMs > state.atMs) {
    return decideBlocked(state, quota, nowMs, cost, force);
  }
  const decision = decideByQuota(state, quota, nowMs, cost, force);
  if (decision.allowed || quota.blockMs === undefined || !startsBlock(quota, cost)) return decision;
  state.blockedUntilMs = decision.atMs + quota.blockMs;
  return blocked(decision, state.blockedUntilMs);
}

/** What the quota's algorithm says, of a subject that is not blocked, by a clock that is not behind. */
export function decideByQuota(
  state: State,
  quota: Quota,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  switch (quota.algorithm) {
    case 'fixed-window':
      return fixedWindow(state, quota, nowMs, cost, force);
    case 'sliding-window-log':
      return slidingWindowLog(state, quota, nowMs, cost, force);
    case 'sliding-window-counter':
      return slidingWindowCounter(state, quota, nowMs, cost, force);
    case 'token-bucket':
      return tokenBucket(state, quota, nowMs, cost, force);
    case 'leaky-bucket':
      return leakyBucket(state, quota, nowMs, cost, force);
    default:
      throw invalid(
        'FLOODGATE_INVALID_QUOTA',
        'quota',
        'a quota made by one of its functions',
        quota,
      );
  }
}

/** A forced charge passes a block; any other is denied, and told the later of the block's end and the quota's. */
function decideBlocked(
  state: State,
  quota: Quota,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  if (force) {
    const decision = decideByQuota(state, quota, nowMs, cost, true);
    return { ...blocked(decision, state.blockedUntilMs), allowed: true, retryAfterMs: 0 };
  }
  // The quota itself may admit the charge: so on a copy, and `resetAtMs` without it.
  const { resetAtMs } = decideByQuota(state, quota, nowMs, 0, false);
  const decision = decideByQuota({ ...state }, quota, nowMs, cost, false);
  return blocked({ ...decision, resetAtMs }, state.blockedUntilMs);
}

/** Only a charge that could ever be admitted starts a block. */
function startsBlock(quota: Quota, cost: number): boolean {
  return cost > 0 && cost <= limitOf(quota);
}

function blocked(decision: Decision, untilMs: number): Decision {
  return {
    allowed: false,
    limit: decision.limit,
    remaining: 0,
    retryAfterMs: Math.max(decision.retryAfterMs, untilMs - decision.atMs),
    resetAtMs: Math.max(decision.resetAtMs, untilMs),
    delayMs: 0,
    blocked: true,
    atMs: decision.atMs,
  };
}
