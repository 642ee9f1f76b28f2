import type { Decision } from '../decision.ts';
import type { LeakyBucketQuota } from '../quota.ts';
import { bucket } from './bucket.ts';
import type { State } from './state.ts';

/**
 * Admits a charge if it still fits into the bucket, from which `leakRate` units leave each interval. Unless the quota
 * says `shape: false`, an admitted request waits until what was in the bucket before it has left.
 */
export function leakyBucket(
  state: State,
  quota: LeakyBucketQuota,
  nowMs: number,
  cost: number,
  force: boolean,
): Decision {
  const { capacity, intervalMs, leakRate, shape } = quota;
  return bucket(state, capacity, intervalMs, leakRate, shape !== false, nowMs, cost, force);
}
