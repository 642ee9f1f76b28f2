import { rateLimit } from '@floodgate/koa';
import Koa from 'koa';
import koaRateLimit from 'koa-ratelimit';
import { limitFor, type Outcome } from '../decisions/subject.ts';
import { makeFloor, WINDOW_S } from './floor.ts';
import type { MakeListener, Servers } from './servers.ts';

export const koaServers: Servers = {
  bare: behind((outcome) => {
    if (outcome === 'admitted') return (_context, next) => next();
    return (context) => {
      context.status = 429;
      context.body = 'Too many requests';
    };
  }),
  floor: behind((outcome) => {
    const decide = makeFloor(outcome);
    return (context, next) => {
      const { allowed, limit, remaining, reset, retryAfter } = decide(context.ip);
      context.set('X-RateLimit-Limit', String(limit));
      context.set('X-RateLimit-Remaining', String(remaining));
      context.set('X-RateLimit-Reset', String(reset));
      if (allowed) return next();
      context.status = 429;
      context.set('Retry-After', String(retryAfter));
      context.body = 'Too many requests';
    };
  }),
  '@floodgate/koa': behind((outcome) =>
    rateLimit({ limit: limitFor(outcome), window: `${WINDOW_S}s` }),
  ),
  'koa-ratelimit': behind((outcome) =>
    koaRateLimit({
      driver: 'memory',
      db: new Map(),
      duration: WINDOW_S * 1000,
      max: limitFor(outcome),
      id: ({ ip }) => ip,
    }),
  ),
};

function behind(limit: (outcome: Outcome) => Koa.Middleware): MakeListener {
  return (outcome) => {
    const app = new Koa();
    app.use(limit(outcome));
    app.use((context) => {
      context.body = { ok: true };
    });
    return app.callback();
  };
}
