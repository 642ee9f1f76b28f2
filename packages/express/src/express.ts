import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  endWith,
  failureOf,
  HttpLimiter,
  type HttpLimiterOptions,
  handleOf,
  isPromise,
  type LimiterHandle,
  NodeView,
  type Outcome,
  routeName,
  setHeaders,
  trustOf,
  type Verdict,
} from '@floodgate/http';
import type { NextFunction, Request, Response } from 'express';

declare global {
  namespace Express {
    interface Request {
      /** What the limiter decided about this request; undefined where it was not limited. */
      rateLimit?: Verdict | undefined;
    }
  }
}

/** Answers a denied request in the limiter's place. Status, `Retry-After` and all other headers are set. */
export type DenialHandler = (request: Request, response: Response, next: NextFunction) => unknown;

/** What {@link rateLimit} takes. Functions get Express's own request. */
export type RateLimitOptions = HttpLimiterOptions<Request, DenialHandler>;

/**
 * Express middleware, which is the limiter's handle too. Its parameters are those of Node.js, so that it fits
 * whichever copy of Express's types an application has.
 */
export interface RateLimitMiddleware extends LimiterHandle {
  (request: IncomingMessage, response: ServerResponse, next: Next): void;
}

type Next = (error?: unknown) => void;

/**
 * Limits how often a client may call.
 *
 * @example
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` or `FLOODGATE_INVALID_QUOTA` where an option is wrong
 */
export function rateLimit(options: RateLimitOptions): RateLimitMiddleware {
  const limiter = new HttpLimiter<Request, DenialHandler>(options);
  function rateLimiter(request: IncomingMessage, response: ServerResponse, next: Next): void {
    const exchange = new Exchange(request as Request, response as Response, next);
    let mayGoOn = false;
    try {
      const outcome = limiter.decide(exchange);
      if (isPromise(outcome)) {
        const answered = outcome.then((later) => exchange.answer(later, limiter.handler));
        answered.then((may) => may && next(), exchange.fail);
      } else {
        mayGoOn = exchange.answer(outcome, limiter.handler);
      }
    } catch (error) {
      exchange.fail(error);
    }
    if (mayGoOn) next();
  }
  return Object.assign(rateLimiter, handleOf(limiter));
}

/** One request and its response, as the limiter sees them and as it is answered. */
class Exchange extends NodeView<Request> {
  readonly address: string | undefined;
  declare protected readonly response: Response;
  readonly #next: NextFunction;

  constructor(request: Request, response: Response, next: NextFunction) {
    super(request, request, response);
    this.address = request.ip;
    this.#next = next;
  }

  readonly fail = (error: unknown): void => this.#next(failureOf(error, this.response));

  /** Of the mount path only the text is known, so its spelling is evened out: `/API` and `/api` are one mount. */
  get route(): string | undefined {
    const { route, baseUrl } = this.request;
    if (route === undefined) return undefined;
    // `router.all` is one method by a name of its own, `app.all` is all that there are.
    const isAll = route.methods._all === true || route.methods.unlink === true;
    return routeName(
      isAll ? 'ALL' : this.method,
      baseUrl.replace(/\/+/g, '/').toLowerCase() + route.path,
    );
  }

  get trustedProxies(): 'none' | 'some' | 'all' {
    const { app } = this.request;
    return app.get('trust proxy') ? trustOf(app.get('trust proxy fn')) : 'none';
  }

  get isPeerTrusted(): boolean {
    return this.request.app.get('trust proxy fn')(this.request.socket.remoteAddress, 0);
  }

  /** Sets headers and answers a denial; true where the request may go on. */
  answer(outcome: Outcome | undefined, handler: DenialHandler | undefined): boolean {
    if (outcome === undefined) return true;
    if (outcome.action === 'drop') return false;
    const { response } = this;
    this.request.rateLimit = outcome.verdict;
    // Begun by somebody who will end it.
    if (response.headersSent) return outcome.action === 'pass' && !response.writableEnded;
    setHeaders(response, outcome);
    if (outcome.action === 'pass') return true;
    response.statusCode = outcome.status;
    const answered =
      handler === undefined
        ? endWith(response, outcome.body)
        : handler(this.request, response, this.#next);
    if (isPromise(answered)) answered.then(undefined, this.fail);
    return false;
  }
}
