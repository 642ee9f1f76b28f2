import {
  type Policy,
  type Quota,
  RateLimiter,
  type Store,
  type StoreErrorRule,
  slidingWindowCounter,
} from '@floodgate/core';
import type { Awaitable } from '@floodgate/core/internal';
import type { AnyFunction, CommonOptions, Mode, SettleFunction } from './options.ts';
import { QuotaByPlan } from './plans.ts';
import type { KeyResolver } from './resolvers.ts';

/** One policy of an HTTP limiter: what its options say, checked. */
export interface HttpPolicy<Request> {
  readonly name: string;
  /** Whether nobody gave it its name. */
  readonly isNameDefaulted: boolean;
  readonly quota: Quota | ((request: Request) => Awaitable<Quota>) | QuotaByPlan<Request>;
  /** What the quota was made from: that of another policy is the same one if all of this is. */
  readonly quotaFrom: readonly unknown[];
  readonly resolvers: readonly KeyResolver<Request>[];
  readonly cost: number | ((request: Request) => Awaitable<number>);
  readonly settle: SettleFunction<Request> | undefined;
  readonly mode: Mode | ((request: Request) => Awaitable<Mode>);
  readonly when: ((request: Request) => Awaitable<boolean>) | undefined;
  readonly hidden: boolean;
  /** Undefined where it is the limiter's. */
  readonly statusCode: number | undefined;
  readonly store: Store | undefined;
  readonly onStoreError: StoreErrorRule;
}

/** The core limiter of these policies. */
export function rateLimiterOf<Request>(
  { store, onStoreError, instances, onEvent }: CommonOptions<Request, AnyFunction>,
  policies: readonly HttpPolicy<Request>[],
): RateLimiter<Store> {
  return new RateLimiter<Store>({
    policies: policies.length > 0 ? toCorePolicies(policies) : [NOBODYS_POLICY],
    ...(store !== undefined && { store }),
    ...(onStoreError && { onStoreError }),
    ...(instances !== undefined && { instances }),
    ...(onEvent && { onEvent }),
  });
}

/** What the core limiter knows of policies. */
export function toCorePolicies<Request>(policies: readonly HttpPolicy<Request>[]): Policy<Store>[] {
  return policies.map(({ name, quota, settle, store, onStoreError }) => ({
    name,
    quota: isOfRequest(quota) ? NO_QUOTA : quota,
    settles: settle !== undefined,
    onStoreError,
    ...(store !== undefined && { store }),
  }));
}

/** Whether two policies count together. */
export function isAlike<Request>(a: HttpPolicy<Request>, b: HttpPolicy<Request>): boolean {
  return a === b || (a.store !== undefined && a.store === b.store && a.name === b.name);
}

/** A quota that depends on the request. */
export type QuotaOfRequest<Request> = Exclude<HttpPolicy<Request>['quota'], Quota>;

/** Whether a policy's quota depends on the request. */
export function isOfRequest<Request>(
  quota: HttpPolicy<Request>['quota'],
): quota is QuotaOfRequest<Request> {
  return typeof quota === 'function' || quota instanceof QuotaByPlan;
}

/** What the core limiter knows of a policy whose quota comes with each request. It is never asked for it. */
const NO_QUOTA = slidingWindowCounter({ limit: 0, window: 1 });

/** A limiter to which policies are only added has none that a request meets, and the core wants one. */
const NOBODYS_POLICY: Policy<Store> = { name: '(none)', quota: NO_QUOTA };
