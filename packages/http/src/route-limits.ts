import { FloodgateError } from '@floodgate/core';
import { invalid } from '@floodgate/core/internal';
import type { HttpLimiter } from './http-limiter.ts';
import type { AnyFunction, HttpLimiterOptions } from './options.ts';
import { takeOptions } from './take-options.ts';

/** What a route says of its own limits: those beside the limits of all routes, and what else is different there. */
export type RouteOptions<Request, Handler extends AnyFunction> = HttpLimiterOptions<
  Request,
  Handler
> & {
  /** Whether the limits of all routes do not count on this one. @default false */
  readonly replace?: boolean;
};

/** The limiter of a route that says something itself. */
export interface RouteLimiter<Request, Handler extends AnyFunction> {
  readonly limiter: HttpLimiter<Request, Handler>;
  /** That of all routes, which it extends. */
  readonly base: HttpLimiter<Request, Handler>;
}

/** Which limiter a request is to meet where a framework knows of all routes: that of all, or its route's. */
export class RouteLimits<Request, Handler extends AnyFunction> {
  readonly #base: HttpLimiter<Request, Handler>;
  readonly #isGlobal: boolean;
  readonly #notOfRoutes: readonly string[];
  /** By the name of the route, and the options that it came with: one object may be given to several routes. */
  readonly #made = new Map<string, Made<Request, Handler>>();

  /**
   * `isGlobal` says whether routes that say nothing are limited; `notOfRoutes` names the options that only those of all
   * routes may have.
   */
  constructor(
    base: HttpLimiter<Request, Handler>,
    isGlobal: boolean,
    notOfRoutes: readonly string[],
  ) {
    this.#base = base;
    this.#isGlobal = isGlobal;
    this.#notOfRoutes = notOfRoutes;
  }

  /**
   * The limiter of a route that says something. A policy without a name gets the route's; a handler of what is not found
   * has no pattern.
   *
   * @throws FloodgateError `FLOODGATE_INVALID_OPTION` or `FLOODGATE_INVALID_QUOTA` where an option is wrong
   */
  limiterOf(
    options: RouteOptions<Request, Handler>,
    methods: string | readonly string[],
    pattern: string | undefined,
  ): RouteLimiter<Request, Handler> {
    if (typeof options !== 'object' || options === null) {
      throw invalid(CODE, 'config.rateLimit', 'false or an object', options);
    }
    const misplaced = this.#notOfRoutes.find((option) => option in options);
    if (misplaced !== undefined) {
      const text = `Expected no \`${misplaced}\` in \`config.rateLimit\`: it is an option of the plugin`;
      throw new FloodgateError(CODE, text);
    }
    const { replace, rest } = takeOptions(options, { replace: [false, true] });
    const name = pattern === undefined ? '404' : routeName(methods, pattern);
    const made = this.#made.get(name);
    if (made?.options === options) return made.own;
    // The HEAD that a framework adds to a route of several methods is that route.
    const all = this.#made.get(`ALL ${pattern}`);
    if (methods === 'HEAD' && all?.options === options) return all.own;
    if (made !== undefined && rest.name === undefined && rest.policies === undefined) {
      const text = `Expected a \`name\` in \`config.rateLimit\`: another route is called ${name} too`;
      throw new FloodgateError(CODE, text);
    }
    const limiter = this.#base.extend(rest, { name: inAscii(name), replace });
    const own = { base: this.#base, limiter };
    this.#made.set(name, { options, own });
    return own;
  }

  /** The limiter to meet on a route, with what {@link limiterOf} made for it, here or where a limiter within does. */
  choose(
    options: RouteOptions<Request, Handler> | false | undefined,
    own: RouteLimiter<Request, Handler> | undefined,
  ): HttpLimiter<Request, Handler> | undefined {
    if (options === false) return undefined;
    if (own?.base === this.#base) return own.limiter;
    return this.#isGlobal && options?.replace !== true ? this.#base : undefined;
  }
}

interface Made<Request, Handler extends AnyFunction> {
  readonly options: object;
  readonly own: RouteLimiter<Request, Handler>;
}

const CODE = 'FLOODGATE_INVALID_OPTION';

/** A route's methods and pattern, such as `GET /users/:id`. HEAD is GET, `/users/` is `/users`, several methods are ALL. */
export function routeName(methods: string | readonly string[], pattern: string | RegExp): string {
  const verbs = new Set([methods].flat().map((method) => (method === 'HEAD' ? 'GET' : method)));
  const path = typeof pattern === 'string' ? pattern.replace(/([\w:}-])\/$/, '$1') : pattern;
  return `${verbs.size === 1 ? [...verbs][0] : 'ALL'} ${path}`;
}

/** As headers can tell it. */
function inAscii(name: string): string {
  return name.replace(/[^\x20-\x7e]+/gu, encodeURIComponent);
}
