import type { BaseOptions, HttpLimiterOptions, LimiterHandle, RouteOptions } from '@floodgate/http';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';

/**
 * Answers a denied request in the limiter's place, as the handler of a route would: what it returns is sent. Status,
 * `Retry-After` and all other headers are set.
 */
export type DenialHandler = (request: FastifyRequest, reply: FastifyReply) => unknown;

interface ThrowOption {
  /** Whether a denial goes to the error handler, as a `RateLimitError`. Not beside what answers it: `handler`, `body`, `message`. @default false */
  readonly throwOnLimit?: boolean;
}

/** What `fastify.rateLimit` and `rateLimitHook` take. Functions get Fastify's own request. */
export type RateLimitOptions = HttpLimiterOptions<FastifyRequest, DenialHandler> & ThrowOption;

/** When in its life a request can be limited. */
export type LimitingHook = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler';

/** What the plugin takes. */
export type RateLimitPluginOptions = ThrowOption & {
  /** When in its life a request is limited: the bodies of those that are denied are not read before `preValidation`. @default 'onRequest' */
  readonly hook?: LimitingHook;
} & (
    | (HttpLimiterOptions<FastifyRequest, DenialHandler> & {
        /** Whether all routes are limited, or only those with a `config.rateLimit`. @default true */
        readonly global?: boolean;
      })
    | (BaseOptions<FastifyRequest, DenialHandler> & { readonly global: false })
  );

/** What a route's `config.rateLimit` takes: limits beside the plugin's, and what else is different on this route. */
export type RouteRateLimitOptions = RouteOptions<FastifyRequest, DenialHandler>;

/** The plugin, to be given to `fastify.register`. */
export type RateLimitPlugin = FastifyPluginAsync<RateLimitPluginOptions>;

/**
 * A function for each of the {@link LimitingHook}s, of a context or a route. Its parameters are no more than objects, so
 * that it fits every kind of server, route and schema.
 */
export type RequestHook = (request: object, reply: object, ...rest: unknown[]) => void;

/** A hook with a limiter of its own, whose handle it is too. */
export type RateLimitHook = RequestHook & LimiterHandle;

/** What `fastify.rateLimit` is: it makes hooks with limits of their own, and is the handle of the plugin's limiter. */
export type RateLimitDecorator = ((options: RateLimitOptions) => RateLimitHook) & LimiterHandle;
