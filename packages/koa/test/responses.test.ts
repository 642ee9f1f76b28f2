import { get, type IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type Koa from 'koa';
import supertest from 'supertest';
import { MemoryStore, type RateLimitOptions, rateLimit } from '../src/index.ts';
import { type AppOptions, limitedApp, quietApp, rateHeaders } from './app.ts';
import { answer, send, serve } from './server.ts';
import { versions } from './versions.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');
const NOON_S = NOON_MS / 1000;

describe.each(versions)('%s', (_, make) => {
  let clock: ManualClock;
  let store: MemoryStore;

  beforeEach(() => {
    clock = new ManualClock(NOON_MS);
    store = new MemoryStore({ clock });
  });

  function limited(options: AppOptions = {}): Koa {
    return limitedApp(make, { store, ...options });
  }

  describe('says on every response that was counted what is left', () => {
    test('up to the limit and beyond', async () => {
      const agent = supertest(limited().callback());
      const responses = [];
      for (let i = 0; i < 5; i += 1) responses.push(await agent.get('/'));
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
      expect(responses.map(({ headers }) => rateHeaders(headers))).toEqual([
        ['3', '2', `${NOON_S + 60}`, undefined, undefined],
        ['3', '1', `${NOON_S + 60}`, undefined, undefined],
        ['3', '0', `${NOON_S + 60}`, undefined, undefined],
        ['3', '0', `${NOON_S + 60}`, '60', 'no-store'],
        ['3', '0', `${NOON_S + 60}`, '60', 'no-store'],
      ]);
      expect(responses[4]?.text).toBe(
        '{"error":{"code":"RATE_LIMITED","message":"Rate limit exceeded. Try again in 1 minute.",' +
          `"retryAfter":60,"resetAt":${NOON_S + 60},"policy":"default"}}`,
      );
      expect(responses[4]?.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(Buffer.byteLength(responses[4]?.text ?? '')),
      });
    });

    test('until the very millisecond at which it is over', async () => {
      const agent = supertest(limited().callback());
      for (let i = 0; i < 3; i += 1) await agent.get('/').expect(200);
      const told = [];
      for (const atMs of [55_000, 55_200, 59_000, 59_001, 59_999]) {
        clock.set(NOON_MS + atMs);
        const { headers } = await agent.get('/').expect(429);
        told.push([headers['retry-after'], headers['x-ratelimit-reset']]);
      }
      expect(told).toEqual(['5', '5', '1', '1', '1'].map((seconds) => [seconds, `${NOON_S + 60}`]));
      clock.set(NOON_MS + 60_000);
      await agent.get('/').expect(200).expect('X-RateLimit-Remaining', '2');
    });

    test.each([
      ['/', 200, '{"ok":true}'],
      ['/text', 200, 'plain'],
      ['/bytes', 200, '\0\x01\x02'],
      ['/stream', 200, 'ab'],
      ['/late', 200, 'late'],
      ['/empty', 204, ''],
      ['/raw', 200, 'raw'],
      ['/nowhere', 404, 'Not Found'],
      ['/forbidden', 403, 'Forbidden'],
      ['/fails', 500, 'Internal Server Error'],
    ])('from %s, which answers %i', async (path, status, body) => {
      const response = await supertest(limited().callback())
        .get(path)
        .buffer(true)
        .parse((stream, done) => {
          let text = '';
          stream.on('data', (chunk) => {
            text += chunk;
          });
          stream.on('end', () => done(null, text));
        });
      expect([response.status, response.body]).toEqual([status, body]);
      expect(rateHeaders(response.headers)).toEqual([
        '3',
        '2',
        `${NOON_S + 60}`,
        undefined,
        undefined,
      ]);
    });

    test('on a 304, and leaves the route its own Cache-Control', async () => {
      const agent = supertest(limited().callback());
      const { headers } = await agent.get('/cached');
      expect(headers['cache-control']).toBe('public, max-age=60');
      await agent
        .get('/cached')
        .set('If-None-Match', headers.etag as string)
        .expect(304)
        .expect('X-RateLimit-Remaining', '1');
    });

    test('before the first of server-sent events', async () => {
      const events = new PassThrough();
      const app = quietApp(make);
      app.use(rateLimit({ quota: 'fixed-window 3/1m', store }));
      app.use((ctx) => {
        ctx.type = 'text/event-stream';
        ctx.body = events;
        ctx.flushHeaders();
      });
      await serve(app, async (port) => {
        const response = await new Promise<IncomingMessage>((resolve) => {
          get({ host: '127.0.0.1', port: Number(port) }, resolve);
        });
        // Nothing has been sent yet but the head.
        expect(response.headers).toMatchObject({
          'content-type': 'text/event-stream; charset=utf-8',
          'x-ratelimit-remaining': '2',
        });
        events.end('data: 1\n\n');
        let text = '';
        for await (const chunk of response) text += chunk;
        expect(text).toBe('data: 1\n\n');
      });
    });

    test('not found counts as well, and so does a method that is not allowed', async () => {
      const agent = supertest(limited().callback());
      const statuses = [];
      for (let i = 0; i < 2; i += 1) statuses.push((await agent.get('/nope')).status);
      statuses.push((await agent.post('/')).status);
      statuses.push((await agent.get('/nope')).status);
      expect(statuses).toEqual([404, 404, 405, 429]);
    });
  });

  test('answers HEAD like GET, without a body, from the same count', async () => {
    const agent = supertest(limited().callback());
    for (let i = 0; i < 3; i += 1) await agent.head('/').expect(200);
    const head = await agent.head('/');
    const get = await agent.get('/');
    expect([head.status, get.status]).toEqual([429, 429]);
    expect(head.text ?? '').toBe('');
    expect(Number(head.headers['content-length'])).toBeGreaterThan(100);
    expect(comparable(head.headers)).toEqual(comparable(get.headers));
  });

  describe('preflights', () => {
    const preflight = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' };

    test('are neither limited nor counted', async () => {
      const agent = supertest(limited().callback());
      for (let i = 0; i < 3; i += 1) {
        await agent
          .options('/')
          .set(preflight)
          .expect((response) => {
            expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
          });
        await agent.get('/').expect(200);
      }
      await agent.options('/').set(preflight).expect(200);
      await agent.get('/').expect(429);
    });

    test('count where countPreflight says so, as does any other OPTIONS', async () => {
      const counting = supertest(limited({ countPreflight: true }).callback());
      await counting.options('/').set(preflight).expect('X-RateLimit-Remaining', '2');
      const agent = supertest(limited({ store: new MemoryStore({ clock }) }).callback());
      await agent.options('/').expect('X-RateLimit-Remaining', '2');
      const { Origin } = preflight;
      await agent.options('/').set({ Origin }).expect('X-RateLimit-Remaining', '1');
    });
  });

  test('adds to what was said before it', async () => {
    const app = quietApp(make);
    app.use((ctx, next) => {
      ctx.set('Access-Control-Expose-Headers', 'X-Own, Date');
      return next();
    });
    app.use(rateLimit({ limit: 3, window: '1m', store, exposeHeaders: true, headers: 'draft-8' }));
    const { headers } = await supertest(app.callback()).get('/');
    expect(headers['access-control-expose-headers']).toBe(
      'X-Own, Date, RateLimit, RateLimit-Policy, Retry-After',
    );
  });

  describe('once headers were sent', () => {
    /** Begins every response past Koa, and ends those that are let through. */
    function early(limit: number, options: AppOptions = {}): Koa {
      const app = quietApp(make);
      app.use(async (ctx, next) => {
        ctx.respond = false;
        ctx.res.statusCode = 200;
        ctx.res.write('early');
        await next();
        if (!ctx.res.writableEnded) ctx.res.end('.');
      });
      app.use(rateLimit({ limit, window: '1m', store, ...options } as RateLimitOptions));
      app.use((ctx) => void ctx.res.end(' late'));
      return app;
    }

    test('sets no header, and lets the request go on', async () => {
      const text = await serve(early(3), (at) => answer(send(at, '/')));
      expect(text).toMatch(/early[\s\S]* late/);
      expect(text).not.toMatch(/x-ratelimit/i);
    });

    test('a denial writes nothing', async () => {
      const text = await serve(early(0), (at) => answer(send(at, '/')));
      expect(text).toBe(
        'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n' +
          '5\r\nearly\r\n1\r\n.\r\n0\r\n\r\n',
      );
    });

    test('a denial has no handler', async () => {
      const handler = (): never => {
        throw new Error('Not to be called');
      };
      const text = await serve(early(0, { handler }), (at) => answer(send(at, '/')));
      expect(text).toMatch(/5\r\nearly\r\n1\r\n\.\r\n0\r\n\r\n$/);
    });

    test('a denial keeps Koa from writing, too', async () => {
      const app = quietApp(make);
      app.use((ctx, next) => {
        ctx.res.write('early');
        setImmediate(() => ctx.res.end('.'));
        return next();
      });
      app.use(rateLimit({ limit: 0, window: '1m', store }));
      const text = await serve(app, (at) => answer(send(at, '/')));
      expect(text).toMatch(/\r\n\r\n5\r\nearly\r\n1\r\n\.\r\n0\r\n\r\n$/);
    });
  });

  test('a denial is written where everything else is answered past Koa', async () => {
    const app = quietApp(make);
    app.use((ctx, next) => {
      ctx.respond = false;
      return next();
    });
    app.use(rateLimit({ quota: 'fixed-window 1/1m', store }));
    app.use((ctx) => {
      ctx.res.statusCode = 200;
      ctx.res.end('raw');
    });
    const agent = supertest(app.callback());
    expect((await agent.get('/').expect(200)).text).toBe('raw');
    expect((await agent.get('/').expect(429)).body.error.code).toBe('RATE_LIMITED');
  });

  test('next is called in the same turn where nothing is asynchronous', async () => {
    const order: string[] = [];
    const middleware = rateLimit({ limit: 1, window: '1m', key: () => 'a' });
    const app = quietApp(make);
    app.use((ctx, next) => {
      const promise = middleware(ctx, async () => {
        order.push('next');
      });
      order.push('after');
      return promise.then(next);
    });
    await supertest(app.callback()).get('/');
    expect(order).toEqual(['next', 'after']);
  });

  test('ends when what comes after it has ended', async () => {
    const order: string[] = [];
    const app = quietApp(make);
    app.use(async (_, next) => {
      await next();
      order.push('before');
    });
    app.use(rateLimit({ limit: 1, window: '1m', store }));
    app.use(async () => {
      await new Promise(setImmediate);
      order.push('after');
    });
    await supertest(app.callback()).get('/');
    expect(order).toEqual(['after', 'before']);
  });

  test('no response ever says undefined, NaN or Infinity', async () => {
    const quotas = [
      '0/1m',
      '1/1m',
      'fixed-window 1/1s',
      'sliding-window-log 1/1d',
      'token-bucket 1 1/7ms block=1h',
    ];
    for (const quota of [...quotas, 'leaky-bucket 0 1/1s', 'leaky-bucket 1 1/1s shape=false']) {
      for (const cost of [0, 1, 2]) {
        const app = limited({ quota, cost, store: new MemoryStore({ clock }) });
        const agent = supertest(app.callback());
        for (let i = 0; i < 3; i += 1) {
          const { headers, text } = await agent.get('/text');
          expect(`${JSON.stringify(headers)} ${text}`).not.toMatch(/undefined|NaN|Infinity/);
          if (headers['x-ratelimit-reset'] !== undefined) {
            expect(headers['x-ratelimit-reset']).toMatch(/^\d{10}$/);
          }
        }
      }
    }
  });
});

/** What does not change with the time of day. */
function comparable({ date: _, ...headers }: Record<string, string>): Record<string, string> {
  return headers;
}
