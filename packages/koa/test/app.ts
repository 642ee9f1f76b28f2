import { PassThrough, Readable } from 'node:stream';
import Router from '@koa/router';
import type Koa from 'koa';
import { type RateLimitOptions, rateLimit } from '../src/index.ts';

/** The options of a limiter, without a limit where the app's own will do. */
export type AppOptions = Partial<RateLimitOptions>;

/** An app with a few routes, all under one limit: three a minute, by fixed windows, unless options say otherwise. */
export function limitedApp(make: typeof Koa, options: AppOptions): Koa {
  const app = quietApp(make);
  const quota = 'policies' in options ? {} : { quota: 'fixed-window 3/1m' };
  app.use(rateLimit({ ...quota, ...options } as RateLimitOptions));
  const router = new Router();
  router.get('/', (ctx) => {
    ctx.body = { ok: true };
  });
  router.get('/text', (ctx) => {
    ctx.body = 'plain';
  });
  router.get('/bytes', (ctx) => {
    ctx.body = Buffer.from([0, 1, 2]);
  });
  router.get('/stream', (ctx) => {
    ctx.body = Readable.from(['a', 'b']);
  });
  router.get('/late', (ctx) => {
    const body = new PassThrough();
    setImmediate(() => body.end('late'));
    ctx.body = body;
  });
  router.get('/empty', (ctx) => {
    ctx.status = 204;
  });
  router.get('/raw', (ctx) => {
    ctx.respond = false;
    ctx.res.statusCode = 200;
    ctx.res.end('raw');
  });
  router.get('/cached', (ctx) => {
    ctx.set('Cache-Control', 'public, max-age=60');
    ctx.etag = 'cached';
    ctx.body = 'cached';
    if (ctx.fresh) ctx.status = 304;
  });
  router.get('/forbidden', (ctx) => ctx.throw(403));
  router.get('/fails', () => {
    throw new Error('The handler failed');
  });
  app.use(router.routes()).use(router.allowedMethods());
  return app;
}

/** An app that keeps its errors in a list, where Koa would write them to the console. */
export function quietApp(make: typeof Koa, errors: unknown[] = []): Koa {
  const app = new make();
  app.on('error', (error) => errors.push(error));
  return app;
}

/** `X-RateLimit-Limit`, `-Remaining`, `-Reset`, `Retry-After` and `Cache-Control`. */
export function rateHeaders(headers: Record<string, string>): (string | undefined)[] {
  return [
    headers['x-ratelimit-limit'],
    headers['x-ratelimit-remaining'],
    headers['x-ratelimit-reset'],
    headers['retry-after'],
    headers['cache-control'],
  ];
}
