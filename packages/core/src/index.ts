// Quotas
export {
  fillTimeOf,
  fixedWindow,
  type FixedWindowOptions,
  type FixedWindowQuota,
  leakyBucket,
  type LeakyBucketOptions,
  type LeakyBucketQuota,
  limitOf,
  type Quota,
  slidingWindowCounter,
  type SlidingWindowCounterQuota,
  slidingWindowLog,
  type SlidingWindowLogQuota,
  tokenBucket,
  type TokenBucketOptions,
  type TokenBucketQuota,
  type WindowOptions,
} from './quota.ts';
export { formatQuota, parseQuota, type QuotaInput, toQuota } from './quota-text.ts';
export type { Duration } from './duration.ts';

// The limiter
export { type AnswerOf, RateLimiter } from './rate-limiter.ts';
export type {
  ChargeRequest,
  CostOption,
  Policy,
  RateLimiterOptions,
  WaitOptions,
} from './rate-limiter-options.ts';

// What it answers
export type { Decision } from './decision.ts';
export type { Degraded, StoreErrorRule } from './degraded.ts';
export type { PolicyDecision, Verdict } from './verdict.ts';
export type { EventHook, FloodgateEvent } from './events.ts';
export { ERROR_CODES, type ErrorCode, FloodgateError } from './errors.ts';

// Stores
export type { Clock } from './clock.ts';
export { MemoryStore, type MemoryStoreOptions } from './memory-store.ts';
export {
  type Charge,
  checkCharges,
  checkRefunds,
  type Refund,
  type Store,
  type Subject,
  type TakeMode,
  type TakeOptions,
} from './store.ts';
