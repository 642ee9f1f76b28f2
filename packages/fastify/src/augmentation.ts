import type { Verdict } from '@floodgate/http';
import type { FastifyInstance } from 'fastify';
import type { RateLimitDecorator, RateLimitOptions, RouteRateLimitOptions } from './options.ts';

// `@fastify/rate-limit` declares members of the same names, with types of its own. To declare them again would be an
// error in a program that has both; to inherit them is none, as long as ours are `unknown` there. Then its types count.
type UnlessTheirs<T> = 'createRateLimit' extends keyof FastifyInstance ? unknown : T;

export interface RateLimitInstance {
  /** Makes hooks with limits of their own, and is the handle of the plugin's limiter. */
  rateLimit: UnlessTheirs<RateLimitDecorator>;
}

export interface RateLimitConfig {
  /** Limits of this route, beside those of the plugin; false for none at all. */
  rateLimit?: UnlessTheirs<RouteRateLimitOptions | false>;
}

declare module 'fastify' {
  interface FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider>
    extends RateLimitInstance {}
  interface FastifyContextConfig extends RateLimitConfig {}
  interface FastifyRequest {
    /** What was decided about this request; undefined where it was not limited. */
    rateLimit: Verdict | undefined;
  }
}

/**
 * What our options are beside those of `@fastify/rate-limit`, for a program that has its types too. It knows no `store`.
 *
 * @example
 * declare module '@fastify/rate-limit' {
 *   interface RateLimitOptions extends AdditionalRateLimitOptions {}
 * }
 */
export interface AdditionalRateLimitOptions
  extends Omit<AllOf<RateLimitOptions | RouteRateLimitOptions>, 'store'> {}

/** Every member of every part of a union, each of which may be left out. */
type AllOf<Union> = {
  readonly [Name in Union extends unknown ? keyof Union : never]?: Union extends unknown
    ? Union[Name & keyof Union]
    : never;
};
