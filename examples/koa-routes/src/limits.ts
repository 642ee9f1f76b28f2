import type { PolicyOptions } from '@floodgate/koa';
import type { Context } from 'koa';

/** Guessing passwords: never more than ten in any minute, so by a log, and right or wrong all count. */
export const signIn: PolicyOptions<Context> = {
  name: 'sign-in',
  quota: 'sliding-window-log 10/1m',
};

/** Costs a query each. */
export const search: PolicyOptions<Context> = {
  name: 'search',
  quota: '30/1m',
};

/** Twenty megabytes at once, and then one every three seconds. A megabyte that was begun costs one. */
export const uploads: PolicyOptions<Context> = {
  name: 'uploads',
  quota: 'token-bucket 20 1/3s',
  // Not Koa's `length`, which has 32 bits: 4 GB and one byte would cost what one byte does.
  cost: (ctx) => Math.max(1, Math.ceil(Number(ctx.get('Content-Length')) / 1_000_000)),
};

/** For everything that has no limit of its own, pages that are not there among it. */
export const everythingElse: PolicyOptions<Context> = {
  name: 'everything-else',
  quota: '1000/1m',
};
