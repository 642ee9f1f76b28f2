import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { type Limiter, routeName } from './exchange.ts';
import type { RateLimitDecorator, RouteRateLimitOptions } from './options.ts';
import { readRouteOptions } from './read-options.ts';

/** Which limiter a request is to meet: the plugin's, or that of its route, made from what `config.rateLimit` says. */
export class RouteLimits {
  readonly #limiter: Limiter;
  readonly #decorator: RateLimitDecorator;
  readonly #isGlobal: boolean;
  /** By options and name: one object may be given to several routes. */
  readonly #made = new WeakMap<object, Map<string, OwnLimiter>>();

  constructor(limiter: Limiter, decorator: RateLimitDecorator, isGlobal: boolean) {
    this.#limiter = limiter;
    this.#decorator = decorator;
    this.#isGlobal = isGlobal;
  }

  /** Makes a route's limiter while the route is registered, so that a wrong option is an error there. */
  prepare(instance: FastifyInstance, route: RouteOptions): void {
    const { rateLimit } = (route.config ?? {}) as RouteConfig;
    if (rateLimit === undefined || rateLimit === false || !this.#isInnermost(instance)) return;
    const own = this.#own(rateLimit, route.method, route.url);
    route.config = Object.assign({}, route.config, { [OWN]: own });
  }

  limiterOf({ routeOptions, server }: FastifyRequest): Limiter | undefined {
    const config = routeOptions.config as RouteConfig;
    const { rateLimit } = config;
    if (rateLimit === false) return undefined;
    if (rateLimit !== undefined) {
      // A route that was there before the plugin has no limiter yet.
      if (config[OWN] === undefined && this.#isInnermost(server)) {
        config[OWN] = this.#own(rateLimit, routeOptions.method, routeOptions.url);
      }
      const own = config[OWN];
      if (own?.base === this.#limiter) return own.limiter;
      if (rateLimit.replace === true) return undefined;
    }
    return this.#isGlobal ? this.#limiter : undefined;
  }

  /** Of several plugins that a route is limited by, its own limits are the affair of the last one. */
  #isInnermost({ rateLimit }: { readonly rateLimit: unknown }): boolean {
    return rateLimit === this.#decorator;
  }

  #own(
    options: RouteRateLimitOptions,
    method: string | readonly string[],
    url: string | undefined,
  ): OwnLimiter {
    const { replace, limits } = readRouteOptions(options);
    const made = this.#made.get(options) ?? new Map<string, OwnLimiter>();
    this.#made.set(options, made);
    // A not-found handler has no pattern. The HEAD that Fastify adds to a route of several methods is that route.
    const all = `ALL ${url}`;
    const name =
      url === undefined ? '404' : method === 'HEAD' && made.has(all) ? all : routeName(method, url);
    const own = made.get(name) ?? {
      base: this.#limiter,
      limiter: this.#limiter.extend(limits, { name, replace }),
    };
    made.set(name, own);
    return own;
  }
}

/** What is kept in a route's config, where every copy of this package finds it. */
const OWN = Symbol.for('@floodgate/fastify');

interface RouteConfig {
  readonly rateLimit?: RouteRateLimitOptions | false;
  [OWN]?: OwnLimiter;
}

interface OwnLimiter {
  readonly limiter: Limiter;
  /** That of the plugin which it extends. */
  readonly base: Limiter;
}
