import type { PolicyOptions } from '@floodgate/fastify';
import type { FastifyRequest } from 'fastify';

/** A policy of its own beside the plugin's, or the plugin's own. */
export type Limit = Pick<PolicyOptions<FastifyRequest>, 'name' | 'quota' | 'cost'>;

/** For each client address; pages that are not there count as well. */
export const everything: Limit = { name: 'everything', quota: '1000/1m' };

/** Guessing passwords: never more than ten in any minute, so by a log, and right or wrong all count. */
export const signIn: Limit = { name: 'sign-in', quota: 'sliding-window-log 10/1m' };

/** Costs a query each. */
export const search: Limit = { name: 'search', quota: '30/1m' };

/** Twenty megabytes at once, and then one every three seconds. */
export const uploads: Limit = {
  name: 'uploads',
  quota: 'token-bucket 20 1/3s',
  cost: megabytesOf,
};

export const allLimits: readonly Limit[] = [everything, signIn, search, uploads];

/** As many as were begun: an empty upload is one. Node.js takes no byte more than was announced. */
function megabytesOf({ headers }: FastifyRequest): number {
  return Math.max(1, Math.ceil(Number(headers['content-length'] ?? 0) / 1_000_000));
}
