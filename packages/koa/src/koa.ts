import {
  type Body,
  HttpLimiter,
  type HttpLimiterOptions,
  handleOf,
  isPromise,
  keepingHeaders,
  type LimiterHandle,
  NodeView,
  type Outcome,
  routeName,
  setHeaders,
  toError,
  type Verdict,
} from '@floodgate/http';
import type { Context, Next } from 'koa';

declare module 'koa' {
  interface DefaultState {
    /** What the limiter decided about this request; undefined where it was not limited. */
    rateLimit?: Verdict | undefined;
  }
}

/** Answers a denied request in the limiter's place. Status, `Retry-After` and all other headers are set. */
export type DenialHandler = (context: Context, next: Next) => unknown;

/** What {@link rateLimit} takes. Functions get Koa's own context. */
export type RateLimitOptions = HttpLimiterOptions<Context, DenialHandler>;

/** Koa middleware, which is the limiter's handle too. It takes a context of whatever types Koa and a router make. */
export interface RateLimitMiddleware extends LimiterHandle {
  (context: Pick<Context, 'req' | 'res'>, next: Next): Promise<void>;
}

/**
 * Limits how often a client may call.
 *
 * @example
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 * router.get('/search', rateLimit({ name: 'search', limit: 30, window: '1m' }), search);
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` or `FLOODGATE_INVALID_QUOTA` where an option is wrong
 */
export function rateLimit(options: RateLimitOptions): RateLimitMiddleware {
  const limiter = new HttpLimiter<Context, DenialHandler>(options);
  async function rateLimiter(context: Context, next: Next): Promise<void> {
    try {
      const decided = limiter.decide(new ContextView(context));
      const outcome = isPromise(decided) ? await decided : decided;
      if (outcome !== undefined && !begin(context, outcome)) return;
      if (outcome?.action === 'deny') {
        if (limiter.handler !== undefined) await limiter.handler(context, next);
        else setBody(context, outcome.body);
        return;
      }
    } catch (error) {
      // Koa never answers a request that fails with undefined or null.
      throw toError(error);
    }
    await next();
  }
  return Object.assign(rateLimiter, handleOf(limiter)) as RateLimitMiddleware;
}

/** One request, as the limiter sees it. */
class ContextView extends NodeView<Context> {
  constructor(context: Context) {
    super(context, context.req, context.res);
  }

  get address(): string | undefined {
    return this.request.ip || undefined;
  }

  /** `@koa/router` tells the routes on this path, and which is running; where none is yet, the first is next. */
  get route(): string | undefined {
    const { matched = [], _matchedRoute, method }: Context & { matched?: Route[] } = this.request;
    const routes = matched.filter(({ methods }) => methods.includes(method));
    const path = (routes.find((route) => route.path === _matchedRoute) ?? routes[0])?.path;
    if (path === undefined) return undefined;
    // Where one of them takes other methods too, these must not lead around the limit.
    const methods = routes.flatMap((route) => (route.path === path ? route.methods : []));
    return routeName(methods, path);
  }

  get trustedProxies(): 'none' | 'some' | 'all' {
    const { proxy, maxIpsCount } = this.request.app;
    return proxy ? (maxIpsCount > 0 ? 'some' : 'all') : 'none';
  }

  get isPeerTrusted(): boolean {
    return this.request.app.proxyIpHeader.toLowerCase() === 'x-forwarded-for';
  }
}

type Route = { readonly path: string | RegExp; readonly methods: readonly string[] };

/** Sets the head of the response; false where nothing is to follow. */
function begin(context: Context, outcome: Outcome): boolean {
  // Koa writes a denial, and then only while it can: whatever it was told before.
  if (outcome.action !== 'pass') context.respond = outcome.action === 'deny' && !context.headerSent;
  if (outcome.action === 'drop') return false;
  context.state.rateLimit = outcome.verdict;
  // A hook may have answered already.
  if (context.headerSent) return outcome.action === 'pass' && !context.res.writableEnded;
  if (outcome.action === 'deny') context.status = outcome.status;
  setHeaders(context.res, outcome);
  const { onerror, res } = context;
  // Koa answers an error by removing all headers first: these stay, unless the error has its own.
  context.onerror = (error) => {
    if (error != null) keepingHeaders(res, outcome.headers, () => onerror.call(context, error));
  };
  return true;
}

function setBody(context: Context, body: Body | undefined): void {
  // The type first, or Koa would look for one; and of a body that is null it makes a 204.
  if (body !== undefined) context.set('Content-Type', body.contentType);
  context.body = body?.content ?? '';
  if (body === undefined) context.remove('Content-Type');
}
