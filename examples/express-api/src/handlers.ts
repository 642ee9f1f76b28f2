import { HttpLimiter, keys, type Store } from '@floodgate/express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { allPolicies, ceiling } from './limits.ts';

/** Whoever wants to try. A real API knows only a slow hash of a password, and compares that. */
export const DEMO_USER = { user: 'ada', password: 'engine' } as const;

export function answerSignIn({ body }: Request, response: Response): void {
  const { user, password } = (body ?? {}) as Record<string, unknown>;
  if (user === DEMO_USER.user && password === DEMO_USER.password) {
    response.json({ user });
  } else {
    sendError(response, 401, 'WRONG_PASSWORD', 'The user or the password is wrong.');
  }
}

const DRINKS = ['black tea', 'green tea', 'coffee', 'hot chocolate', 'water'];

export function answerSearch({ query }: Request, response: Response): void {
  const q = String(query.q ?? '').toLowerCase();
  response.json({ results: DRINKS.filter((drink) => drink.includes(q)) });
}

/** By now it is this e-mail's turn, so that it can go out at once. */
export function answerEmail({ body }: Request, response: Response): void {
  const { to } = (body ?? {}) as Record<string, unknown>;
  if (typeof to === 'string' && /^[^@\s]+@[^@\s]+$/.test(to)) {
    response.status(202).json({ sentTo: to });
  } else {
    sendError(
      response,
      400,
      'NO_RECIPIENT',
      'Expected a body such as { "to": "ada@example.com" }.',
    );
  }
}

/** Counts the bytes, and keeps none. */
export async function answerUpload(request: Request, response: Response): Promise<void> {
  if (request.headers['content-length'] === undefined) {
    sendError(
      response,
      411,
      'LENGTH_REQUIRED',
      'Expected a Content-Length: an upload costs by it.',
    );
    return;
  }
  let bytes = 0;
  for await (const chunk of request) bytes += (chunk as Buffer).length;
  response.status(201).json({ bytes });
}

/** What the caller has left of each limit. Asking uses nothing. */
export function answerRateLimit(store: Store): RequestHandler {
  const limiter = new HttpLimiter({ policies: allPolicies, store });
  return async ({ ip }, response) => {
    // As on a Unix socket, whose clients are all one.
    if (ip === undefined) throw new Error('Expected a client address');
    const whose = allPolicies.map(({ name }) => ({
      policy: name,
      key: name === ceiling.name ? keys.of('global', '') : keys.ip(ip),
    }));
    const { decisions } = await limiter.peek(whose, { cost: 0 });
    const limits = decisions.map(({ policy, limit, remaining, resetAtMs }) => [
      policy,
      { limit, remaining, resetAt: Math.ceil(resetAtMs / 1000) },
    ]);
    response.set('Cache-Control', 'no-store').json({ limits: Object.fromEntries(limits) });
  };
}

export function answerIndex(_request: Request, response: Response): void {
  response.json({
    routes: ['POST /sign-in', 'GET /search?q=', 'POST /emails', 'POST /uploads', 'GET /rate_limit'],
  });
}

export function answerNotFound({ method, path }: Request, response: Response): void {
  sendError(response, 404, 'NOT_FOUND', `There is no ${method} ${path}.`);
}

/** Express knows an error handler by its four parameters. */
export function answerError(
  error: Error & { readonly status?: number; readonly expose?: boolean },
  _request: Request,
  response: Response,
  next: NextFunction,
): void {
  // A body that is no JSON, say. What is nobody's fault but ours goes to Express, which logs it.
  if (response.headersSent || error.expose !== true) next(error);
  else sendError(response, error.status ?? 400, 'BAD_REQUEST', error.message);
}

function sendError(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}
