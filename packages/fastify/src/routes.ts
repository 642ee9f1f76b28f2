import { type RouteLimiter, RouteLimits } from '@floodgate/http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Limiter } from './exchange.ts';
import type { DenialHandler, RateLimitDecorator, RouteRateLimitOptions } from './options.ts';

export type FindLimiter = (request: FastifyRequest) => Limiter | undefined;

/**
 * Has each route's own limits made while it is registered, so that a wrong option is an error there. Of several plugins
 * that limit a route, its own limits are the affair of the innermost.
 */
export function findOnRoutes(
  fastify: FastifyInstance,
  limiter: Limiter,
  decorator: RateLimitDecorator,
  global: boolean,
): FindLimiter {
  const routes = new RouteLimits(limiter, global, ['hook', 'global', 'throwOnLimit']);
  function ownOf(server: object, config: RouteConfig, { method, url }: Route): OwnLimiter {
    const { rateLimit, [OWN]: own } = config;
    const isOurs = 'rateLimit' in server && server.rateLimit === decorator;
    if (rateLimit === undefined || rateLimit === false || !isOurs) return own;
    return routes.limiterOf(rateLimit, method, url);
  }
  fastify.addHook('onRoute', function makeLimiter(this: FastifyInstance, route) {
    const own = ownOf(this, (route.config ?? {}) as RouteConfig, route);
    if (own !== undefined) route.config = Object.assign({}, route.config, { [OWN]: own });
  });
  return ({ routeOptions, server }) => {
    // Said, not inferred: beside the types of `@fastify/rate-limit` the config is of theirs.
    const config = routeOptions.config as RouteConfig;
    // A route that was there before the plugin has none yet.
    config[OWN] ??= ownOf(server, config, routeOptions);
    return routes.choose(config.rateLimit, config[OWN]);
  };
}

interface Route {
  readonly method: string | readonly string[];
  readonly url: string | undefined;
}

type OwnLimiter = RouteLimiter<FastifyRequest, DenialHandler> | undefined;

/** What is kept in a route's config, where every copy of this package finds it. */
const OWN = Symbol.for('@floodgate/fastify');

interface RouteConfig {
  readonly rateLimit?: RouteRateLimitOptions | false;
  [OWN]?: OwnLimiter;
}
