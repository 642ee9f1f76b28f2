import { HttpLimiter, keys, type MemoryStore } from '@floodgate/koa';
import type { Context, Middleware } from 'koa';
import { everythingElse, search, signIn, uploads } from './limits.ts';

/** Whoever wants to try, by basic authentication. A real API knows only a slow hash of a password. */
const DEMO_USER = `Basic ${Buffer.from('ada:engine').toString('base64')}`;

export function answerSignIn(ctx: Context): void {
  if (ctx.get('Authorization') === DEMO_USER) {
    ctx.body = { user: 'ada' };
  } else {
    // Not thrown: Koa would remove the headers that CORS has set.
    ctx.status = 401;
    ctx.body = { error: { code: 'WRONG_PASSWORD' } };
  }
}

const DRINKS = ['black tea', 'green tea', 'coffee', 'hot chocolate', 'water'];

export function answerSearch(ctx: Context): void {
  const q = String(ctx.query.q ?? '').toLowerCase();
  ctx.body = { results: DRINKS.filter((drink) => drink.includes(q)) };
}

/** Counts the bytes, and keeps none. */
export async function answerUpload(ctx: Context): Promise<void> {
  if (ctx.get('Content-Length') === '') {
    ctx.status = 411;
    ctx.body = { error: { code: 'LENGTH_REQUIRED' } };
    return;
  }
  let bytes = 0;
  for await (const chunk of ctx.req) bytes += (chunk as Buffer).length;
  ctx.status = 201;
  ctx.body = { bytes };
}

/** What the caller has left of each limit. Asking uses nothing. */
export function answerRateLimit(store: MemoryStore): Middleware {
  const limiter = new HttpLimiter({ policies: [signIn, search, uploads, everythingElse], store });
  return async (ctx) => {
    const { decisions } = await limiter.peek(keys.ip(ctx.ip), { cost: 0 });
    const limits = decisions.map(({ policy, limit, remaining, resetAtMs }) => [
      policy,
      { limit, remaining, resetAt: Math.ceil(resetAtMs / 1000) },
    ]);
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { limits: Object.fromEntries(limits) };
  };
}

export function answerIndex(ctx: Context): void {
  ctx.body = {
    routes: ['POST /sign-in', 'GET /search?q=', 'POST /uploads', 'GET /rate_limit'],
  };
}
