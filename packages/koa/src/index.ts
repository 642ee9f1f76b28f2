// The middleware
export {
  type DenialHandler,
  rateLimit,
  type RateLimitMiddleware,
  type RateLimitOptions,
} from './koa.ts';
export type { Mode, PolicyOptions } from '@floodgate/http';

// Quotas and stores
export {
  type Duration,
  fixedWindow,
  formatQuota,
  leakyBucket,
  MemoryStore,
  type MemoryStoreOptions,
  parseQuota,
  type Quota,
  type QuotaInput,
  slidingWindowCounter,
  slidingWindowLog,
  type Store,
  type StoreErrorRule,
  tokenBucket,
} from '@floodgate/http';

// Keys
export {
  byApiKey,
  byHeader,
  byIp,
  byRoute,
  byUser,
  combine,
  fromAddresses,
  global,
  type KeyFunction,
  type KeyKind,
  type KeyOption,
  type KeyResolver,
  keys,
  type UserId,
} from '@floodgate/http';

// Plans and costs known afterwards
export {
  onlyFailures,
  onlySuccesses,
  type Plan,
  type ResponseEnd,
  type SettleFunction,
  type SettleOptions,
  tier,
  type TierOptions,
} from '@floodgate/http';

// Limits outside of a request
export { HttpLimiter, type LimiterHandle, type PeekOptions } from '@floodgate/http';

// What hooks and errors give
export {
  ERROR_CODES,
  type ErrorCode,
  FloodgateError,
  type FloodgateEvent,
  type PolicyDecision,
  type Verdict,
} from '@floodgate/http';
