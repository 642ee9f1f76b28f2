import { FailingStore, ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import Router from '@koa/router';
import type Koa from 'koa';
import supertest from 'supertest';
import {
  byHeader,
  global,
  keys,
  leakyBucket,
  MemoryStore,
  type RateLimitOptions,
  rateLimit,
} from '../src/index.ts';
import { quietApp } from './app.ts';
import { answer, send, serve } from './server.ts';
import { versions } from './versions.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');

describe.each(versions)('%s', (_, make) => {
  let clock: ManualClock;
  let store: MemoryStore;

  beforeEach(() => {
    clock = new ManualClock(NOON_MS);
    store = new MemoryStore({ clock });
  });

  function limited(options: RateLimitOptions): Koa {
    const app = quietApp(make);
    app.use(rateLimit(options));
    app.use((ctx) => {
      ctx.body = 'served';
    });
    return app;
  }

  describe('several policies', () => {
    test('are met all or not at all', async () => {
      const agent = supertest(
        limited({
          store,
          policies: [
            { name: 'minute', quota: 'fixed-window 10/1m' },
            { name: 'halfHour', quota: 'fixed-window 30/30m' },
          ],
        }).callback(),
      );
      const counts = { served: 0, denied: 0 };
      const call = async (): Promise<void> => {
        const { status } = await agent.get('/');
        counts[status === 200 ? 'served' : 'denied'] += 1;
      };
      for (let i = 0; i < 16; i += 1) await call();
      clock.advance(61_000);
      for (let i = 0; i < 15; i += 1) await call();
      expect(counts).toEqual({ served: 20, denied: 11 });

      const { body, headers } = await agent.get('/').expect(429);
      expect(body).toEqual({
        error: {
          code: 'RATE_LIMITED',
          message: 'Rate limit exceeded. Try again in 59 seconds.',
          retryAfter: 59,
          resetAt: NOON_MS / 1000 + 120,
          policy: 'minute',
          limits: {
            minute: { limit: 10, remaining: 0 },
            halfHour: { limit: 30, remaining: 10 },
          },
        },
      });
      expect(headers).toMatchObject({ 'x-ratelimit-limit': '10', 'retry-after': '59' });
    });

    test('each have a key, a cost and an occasion', async () => {
      const agent = supertest(
        limited({
          store,
          policies: [
            { name: 'ceiling', quota: 'fixed-window 10/1m', key: global() },
            {
              name: 'tenant',
              quota: 'fixed-window 4/1m',
              key: byHeader('X-Tenant'),
              cost: 2,
              when: (ctx) => ctx.get('X-Tenant') !== '',
            },
          ],
        }).callback(),
      );
      const ask = async (tenant?: string): Promise<string> => {
        const request = agent.get('/');
        const { status, headers } = await (tenant ? request.set('X-Tenant', tenant) : request);
        return `${status} ${headers['x-ratelimit-remaining']}/${headers['x-ratelimit-limit']}`;
      };
      expect([await ask('a'), await ask('a'), await ask('a')]).toEqual([
        '200 2/4',
        '200 0/4',
        '429 0/4',
      ]);
      expect([await ask('b'), await ask()]).toEqual(['200 2/4', '200 6/10']);
    });
  });

  test('a route has a limit of its own, beside that of all routes', async () => {
    const router = new Router();
    const served: string[] = [];
    router.get(
      '/search',
      rateLimit({ name: 'search', quota: 'fixed-window 1/1m', store }),
      (ctx) => {
        served.push(ctx.path);
        ctx.body = 'found';
      },
    );
    router.get('/other', (ctx) => {
      ctx.body = 'other';
    });
    const app = quietApp(make);
    app.use(rateLimit({ name: 'all', quota: 'fixed-window 20/10s', store }));
    app.use(router.routes());
    const agent = supertest(app.callback());
    const statuses = [];
    for (const path of ['/search', '/search', '/other', '/search']) {
      statuses.push((await agent.get(path)).status);
    }
    expect(statuses).toEqual([200, 429, 200, 429]);
    expect(served).toEqual(['/search']);
  });

  test('a hundred requests at once each see their own limit', async () => {
    const app = limited({
      limit: async (ctx) => Number(ctx.get('X-Limit')),
      window: '1m',
      key: byHeader('X-Limit'),
      store,
    });
    await serve(app, async (at) => {
      const limits = Array.from({ length: 100 }, (_, i) => String(i + 1));
      const answers = await Promise.all(limits.map((n) => answer(send(at, '/', `X-Limit: ${n}`))));
      expect(answers.map((text) => /X-RateLimit-Limit: (\d+)/.exec(text)?.[1])).toEqual(limits);
    });
  });

  test('a bucket of 5 lets five of eight pass at once, and two more two seconds later', async () => {
    const app = limited({ quota: 'token-bucket 5 1/1s', store });
    const ask = async (count: number): Promise<number[]> =>
      serve(app, async (at) => {
        const answers = await Promise.all(
          Array.from({ length: count }, () => answer(send(at, '/'))),
        );
        return answers.map((text) => Number(text.slice(9, 12))).sort();
      });
    expect(await ask(8)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    clock.advance(2000);
    expect(await ask(3)).toEqual([200, 200, 429]);
  });

  describe('a shaped leaky bucket', () => {
    let served: string[];

    function shaped(): Koa {
      served = [];
      const app = quietApp(make);
      app.use(rateLimit({ quota: leakyBucket({ capacity: 3, leakRate: 2 }), store }));
      app.use((ctx) => {
        served.push(ctx.path);
        ctx.body = 'served';
      });
      return app;
    }

    /** Until the server has done what it can do without the clock going on. */
    async function settled(sleeping: number): Promise<void> {
      while (clock.sleeping !== sleeping) await new Promise(setImmediate);
    }

    test('serves at a constant rate, by the clock of its store', async () => {
      await serve(shaped(), async (at) => {
        const first = await answer(send(at, '/a'));
        const later = [];
        for (const [i, id] of ['b', 'c'].entries()) {
          later.push(answer(send(at, `/${id}`)));
          await settled(i + 1);
        }
        expect(await answer(send(at, '/d'))).toMatch(/^HTTP\/1.1 429/);
        expect(served).toEqual(['/a']);
        clock.advance(499);
        expect(served).toEqual(['/a']);
        clock.advance(1);
        await later[0];
        expect(served).toEqual(['/a', '/b']);
        clock.advance(500);
        await later[1];
        expect(served).toEqual(['/a', '/b', '/c']);
        expect(first).toContain('X-RateLimit-Remaining: 2');
        expect(await later[1]).toContain('X-RateLimit-Remaining: 0');
      });
    });

    test('runs and writes nothing for a client that went away, and keeps no timer', async () => {
      const written: unknown[] = [];
      const app = quietApp(make);
      app.use(async (ctx, next) => {
        const { end } = ctx.res;
        ctx.res.end = ((...args: never[]) => {
          written.push(ctx.path);
          return end.apply(ctx.res, args as never);
        }) as typeof end;
        await next();
      });
      const { middleware } = shaped();
      app.middleware.push(...middleware);
      await serve(app, async (at) => {
        await answer(send(at, '/a'));
        const leaving = send(at, '/b');
        await settled(1);
        leaving.destroy();
        await settled(0);
        clock.advance(60_000);
        await answer(send(at, '/c'));
        expect(served).toEqual(['/a', '/c']);
        expect(written).toEqual(['/a', '/c']);
      });
    });

    test('removes its listeners when the turn has come', async () => {
      const app = quietApp(make);
      const counts: number[] = [];
      app.use(rateLimit({ quota: 'leaky-bucket 3 2/1s', store }));
      app.use((ctx) => {
        counts.push(ctx.res.listenerCount('close'));
        ctx.body = 'served';
      });
      await serve(app, async (at) => {
        await answer(send(at, '/'));
        const waiting = answer(send(at, '/'));
        await settled(1);
        clock.advance(500);
        await waiting;
      });
      expect(counts[1]).toBe(counts[0]);
    });
  });

  describe('a store that fails', () => {
    test.each<[RateLimitOptions['onStoreError'], number[], (string | undefined)[]]>([
      ['local', [200, 200, 429], ['1', '0', '0']],
      ['allow', [200, 200, 200], [undefined, undefined, undefined]],
      ['deny', [503, 503, 503], [undefined, undefined, undefined]],
    ])('under %j', async (onStoreError, statuses, remaining) => {
      const failing = new FailingStore(store);
      failing.fail();
      const options = { quota: 'fixed-window 2/1m', store: failing, onEvent: () => {} };
      const agent = supertest(
        limited({ ...options, ...(onStoreError && { onStoreError }) }).callback(),
      );
      const responses = [];
      for (let i = 0; i < 3; i += 1) responses.push(await agent.get('/'));
      expect(responses.map(({ status }) => status)).toEqual(statuses);
      expect(responses.map(({ headers }) => headers['x-ratelimit-remaining'])).toEqual(remaining);
      if (onStoreError === 'deny') {
        expect(responses[0]?.headers).toMatchObject({
          'retry-after': '1',
          'cache-control': 'no-store',
        });
        expect(responses[0]?.body.error.code).toBe('RATE_LIMITER_UNAVAILABLE');
      }
    });
  });

  test('the middleware is the handle of its limiter', async () => {
    const limiter = rateLimit({ quota: 'fixed-window 2/1m', store });
    const app = quietApp(make);
    app.use(limiter);
    app.use((ctx) => {
      ctx.body = 'served';
    });
    const agent = supertest(app.callback());
    const me = keys.ip('127.0.0.1');
    const status = async (): Promise<number> => (await agent.get('/')).status;

    expect([await status(), await status(), await status()]).toEqual([200, 200, 429]);
    expect(await limiter.peek(me)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    await limiter.reset(me);
    expect(await limiter.peek(me, { cost: 0 })).toMatchObject({ tightest: { remaining: 2 } });
    await limiter.block(me, '1h');
    const { headers } = await agent.get('/').expect(429);
    expect(headers['retry-after']).toBe('3600');
    await limiter.unblock(me);
    expect(await status()).toBe(200);
    expect(limiter.name).toBe('rateLimiter');
    limiter.close();
    expect(await status()).toBe(200);
  });
});
