// The limiter
export { HttpLimiter, type HttpLimiterSetup } from './http-limiter.ts';
export type { LimiterHandle, PeekOptions } from './limiter-handle.ts';
export type {
  AnyFunction,
  BaseOptions,
  CommonOptions,
  HeaderFamily,
  HttpLimiterOptions,
  Mode,
  Plan,
  PlansOptions,
  PolicyOptions,
  ResponseEnd,
  SettleFunction,
  VerdictFunction,
} from './options.ts';

export { limitUpgrade, type UpgradeLimitOptions, type UpgradeRequest } from './upgrade.ts';

// Plans and costs known afterwards
export { tier, type TierOptions } from './plans.ts';
export { onlyFailures, onlySuccesses, type SettleOptions } from './settle.ts';

// Keys
export { type KeyKind, keys, type UserId } from './keys.ts';
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
export { fromAddresses, type HasAddress } from './addresses.ts';

// What an adapter needs
export { NodeView } from './node-view.ts';
export { type RequestView, trustOf } from './request-view.ts';
export {
  endWith,
  failureOf,
  keepingHeaders,
  setHeaders,
} from './node-http.ts';
export {
  type Denial,
  errorOf,
  type Gone,
  type Outcome,
  type Pass,
  type RateLimitError,
} from './outcome.ts';
export type { Header } from './headers.ts';
export type { Body } from './body.ts';
export { handleOf } from './limiter-handle.ts';
export { type RouteLimiter, RouteLimits, type RouteOptions, routeName } from './route-limits.ts';
export { takeOptions } from './take-options.ts';
export { type Awaitable, isPromise, toError } from '@floodgate/core/internal';

// What options are made of, and what hooks are given
export {
  type ChargeRequest,
  type Clock,
  type Duration,
  ERROR_CODES,
  type ErrorCode,
  fixedWindow,
  FloodgateError,
  type FloodgateEvent,
  formatQuota,
  leakyBucket,
  MemoryStore,
  type MemoryStoreOptions,
  parseQuota,
  type PolicyDecision,
  type Quota,
  type QuotaInput,
  slidingWindowCounter,
  slidingWindowLog,
  type Store,
  type StoreErrorRule,
  tokenBucket,
  type Verdict,
} from '@floodgate/core';
