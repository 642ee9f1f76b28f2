// The limiter, and what an adapter needs of it

// What options are made of, from @floodgate/core
export {
  type ChargeRequest,
  type Clock,
  type Duration,
  ERROR_CODES,
  type ErrorCode,
  FloodgateError,
  type FloodgateEvent,
  fixedWindow,
  formatQuota,
  leakyBucket,
  MemoryStore,
  type MemoryStoreOptions,
  type PolicyDecision,
  parseQuota,
  type Quota,
  type QuotaInput,
  type Store,
  type StoreErrorRule,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
  type Verdict,
} from '@floodgate/core';
// Options
export { fromAddresses, type HasAddress } from './addresses.ts';
export type { Answer } from './answers.ts';
export { isPromise } from './answers.ts';
export type { JsonBody } from './body.ts';
export type { Header } from './headers.ts';
export { HttpLimiter } from './http-limiter.ts';
// Keys
export { type KeyKind, keys, type UserId } from './keys.ts';
export { handleOf, type LimiterHandle } from './limiter-handle.ts';
export type { HttpLimiterOptions, Mode, PolicyOptions } from './options.ts';
export type { Denial, Gone, Outcome, Pass } from './outcome.ts';
export type { RequestView } from './request-view.ts';
export {
  type ApiKeyOptions,
  byApiKey,
  byHeader,
  byIp,
  byRoute,
  byUser,
  combine,
  global,
  type IpOptions,
  type KeyFunction,
  type KeyOption,
  type KeyResolver,
  type KeySource,
} from './resolvers.ts';
