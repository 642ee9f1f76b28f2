import {
  global,
  type PolicyOptions,
  type RateLimitMiddleware,
  type RateLimitOptions,
  rateLimit,
  type Store,
} from '@floodgate/express';
import type { Request } from 'express';

/** What the server as a whole can take: a hundred requests a second, and two thousand at once. One count for all. */
export const ceiling: PolicyOptions<Request> = {
  name: 'ceiling',
  quota: 'token-bucket 2000 100/1s',
  key: global(),
};

/** Guessing passwords: never more than ten in any minute, so by a log, and right or wrong all count. */
export const signIn: PolicyOptions<Request> = {
  name: 'sign-in',
  quota: 'sliding-window-log 10/1m',
};

/** Costs a query each. */
export const search: PolicyOptions<Request> = {
  name: 'search',
  quota: '30/1m',
};

/** Leaves at one a second, which is what a mail server likes. Of five at once, four wait for their turn. */
export const email: PolicyOptions<Request> = {
  name: 'email',
  quota: 'leaky-bucket 5 1/1s',
};

/** Twenty megabytes at once, and then one every three seconds. */
export const uploads: PolicyOptions<Request> = {
  name: 'uploads',
  quota: 'token-bucket 20 1/3s',
  cost: megabytesOf,
};

/** For everything that has no limit of its own, pages that are not there among it. */
export const everythingElse: PolicyOptions<Request> = {
  name: 'everything-else',
  quota: '1000/1m',
};

export const allPolicies: readonly PolicyOptions<Request>[] = [
  ceiling,
  signIn,
  search,
  email,
  uploads,
  everythingElse,
];

export type Limit = (policy: PolicyOptions<Request>) => RateLimitMiddleware;

/**
 * Makes the limit of a route: its own policy and the ceiling, met in one step, so that a request which one of them
 * denies uses nothing of the other. It is the only limit that a request meets. The ceiling is the same name and key
 * on the same store each time, and so one count.
 */
export function limitsOn(
  store: Store,
  onVerdict: NonNullable<RateLimitOptions['onVerdict']>,
): Limit {
  return (policy) => rateLimit({ policies: [policy, ceiling], store, onVerdict });
}

/** As many units as megabytes were begun: an empty upload is one. Node.js takes no byte more than was announced. */
function megabytesOf({ headers }: Request): number {
  return Math.max(1, Math.ceil(Number(headers['content-length'] ?? 0) / 1_000_000));
}
