import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { type DenialHandler, rateLimit } from '@floodgate/koa';
import Router from '@koa/router';
import type Koa from 'koa';
import type { Middleware } from 'koa';
import type { Place, Trust } from '../scenario.ts';
import { answerRaw, boom, brokenStream, EVENTS, forbidden, type SetUp } from './set-up.ts';

/** Koa counts hops, and has no ranges. */
const PROXY: Readonly<Record<Trust, { proxy: boolean; maxIpsCount?: number }>> = {
  none: { proxy: false },
  'one-hop': { proxy: true, maxIpsCount: 1 },
  loopback: { proxy: false },
  elsewhere: { proxy: false },
  all: { proxy: true },
};

export function koaApp(make: typeof Koa, setUp: SetUp): RequestListener {
  const app = new make(PROXY[setUp.trust]);
  const router = new Router();
  // The errors of routes are part of the scenarios.
  app.silent = true;
  app.use((context, next) => {
    context.set(setUp.before);
    return next();
  });

  const limiters = setUp.limiters.map(({ on, options, handler }) => ({
    on,
    limiter: rateLimit({ ...setUp.common, ...options, ...(handler && { handler: slowDown }) }),
  }));
  const limits = (place: Place): Middleware[] =>
    limiters.filter(({ on }) => on.includes(place)).map(({ limiter }) => limiter);
  for (const limiter of limits('app')) app.use(limiter);

  router.get('/hello', ...limits('/hello'), (context) => {
    context.body = 'hello';
  });
  router.options('/hello', (context) => {
    context.status = 204;
  });
  router.get('/json', ...limits('/json'), (context) => {
    context.body = { ok: true };
  });
  router.post('/echo', ...limits('/echo'), (context) => {
    context.body = context.req;
  });
  router.get('/users/:id', ...limits('/users/:id'), (context) => {
    context.body = `user ${context.params.id}`;
  });
  router.get('/login', ...limits('/login'), (context) => {
    context.body = 'welcome';
  });
  router.get('/key', ...limits('/key'), tellKey);
  router.get('/boom', ...limits('/boom'), boom);
  router.get('/forbidden', ...limits('/forbidden'), forbidden);
  router.get('/stream', ...limits('/stream'), (context) => {
    context.type = 'text/event-stream';
    context.body = Readable.from(EVENTS);
  });
  router.get('/broken', ...limits('/broken'), (context) => {
    context.body = brokenStream();
  });
  router.get('/hang', ...limits('/hang'), () => new Promise(() => {}));
  router.get('/raw', ...limits('/raw'), (context) => {
    context.respond = false;
    answerRaw(context.req, context.res);
  });
  router.get('/not-modified', ...limits('/not-modified'), (context) => {
    context.status = 304;
  });
  router.get('/empty', ...limits('/empty'), (context) => {
    context.status = 204;
  });
  router.get('/cached', ...limits('/cached'), (context) => {
    context.set('Cache-Control', 'public, max-age=60');
    context.body = 'cached';
  });

  const api = new Router({ prefix: '/api' });
  for (const limiter of limits('api')) api.use(limiter);
  api.get('/things/:id', ...limits('/api/things/:id'), tellKey);
  app.use(router.routes()).use(api.routes());
  return app.callback();
}

const tellKey: Middleware = (context) => {
  context.body = context.state.rateLimit?.tightest.key ?? 'none';
};

const slowDown: DenialHandler = (context) => {
  context.body = { slowDown: context.state.rateLimit?.tightest.policy };
};
