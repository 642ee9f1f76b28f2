// Quotas

// Stores
export type { Clock } from './clock.ts';
// For packages built on this one
export { sleep } from './clock.ts';
// Limiter
export type { Decision } from './decision.ts';
export type { Duration } from './duration.ts';
export { toMilliseconds } from './duration.ts';
// Errors
export { checkOptions, ERROR_CODES, type ErrorCode, FloodgateError, invalid } from './errors.ts';
export type { EventHook, FloodgateEvent } from './events.ts';
export { callHook, reportEvent } from './events.ts';
export {
  andThen,
  isPromise,
  type MaybePromise,
  runSteps,
  type Steps,
  wait,
} from './maybe-promise.ts';
export { MemoryStore, type MemoryStoreOptions } from './memory-store.ts';
export {
  type FixedWindowOptions,
  type FixedWindowQuota,
  fillTimeOf,
  fixedWindow,
  type LeakyBucketOptions,
  type LeakyBucketQuota,
  leakyBucket,
  limitOf,
  type Quota,
  type SlidingWindowCounterQuota,
  type SlidingWindowLogQuota,
  slidingWindowCounter,
  slidingWindowLog,
  type TokenBucketOptions,
  type TokenBucketQuota,
  tokenBucket,
  type WindowOptions,
} from './quota.ts';
export { formatQuota, parseQuota, type QuotaInput, toQuota } from './quota-text.ts';
export { type AnswerOf, RateLimiter } from './rate-limiter.ts';
export type {
  ChargeRequest,
  CostOption,
  Policy,
  RateLimiterOptions,
  WaitOptions,
} from './rate-limiter-options.ts';
export {
  type Charge,
  checkCharges,
  type Refund,
  type Store,
  type Subject,
  type TakeMode,
  type TakeOptions,
} from './store.ts';
export type { Degraded, PolicyDecision, StoreErrorRule, Verdict } from './verdict.ts';
