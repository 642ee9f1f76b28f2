import type { Decision } from '../decision.ts';
import type { TokenBucketQuota } from '../quota.ts';
import { bucket } from './bucket.ts';
import type { State } from './state.ts';

/** Admits a charge if the bucket still holds that many units; `refillRate` of them come back each interval. */
export function tokenBucket(
  state: State,
  quota: TokenBucketQuota,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  const { capacity, intervalMs, refillRate } = quota;
  return bucket(state, capacity, intervalMs, refillRate, false, nowMs, cost, force);
}
