// The middleware

// Quotas and stores
// Keys
// Limits outside of a request
// What hooks and errors give
export {
  byApiKey,
  byHeader,
  byIp,
  byRoute,
  byUser,
  combine,
  type Duration,
  ERROR_CODES,
  type ErrorCode,
  FloodgateError,
  type FloodgateEvent,
  fixedWindow,
  formatQuota,
  fromAddresses,
  global,
  HttpLimiter,
  type KeyFunction,
  type KeyKind,
  type KeyOption,
  type KeyResolver,
  keys,
  type LimiterHandle,
  leakyBucket,
  MemoryStore,
  type MemoryStoreOptions,
  type Mode,
  type PolicyDecision,
  type PolicyOptions,
  parseQuota,
  type Quota,
  type QuotaInput,
  type Store,
  type StoreErrorRule,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
  type UserId,
  type Verdict,
} from '@floodgate/http';
export {
  type DenialHandler,
  type RateLimitMiddleware,
  type RateLimitOptions,
  rateLimit,
} from './express.ts';
