import { ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Express } from 'express';
import supertest from 'supertest';
import { MemoryStore, rateLimit } from '../src/index.ts';
import { type AppOptions, limitedApp, rateHeaders } from './app.ts';
import { versions } from './versions.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');
const NOON_S = NOON_MS / 1000;

describe.each(versions)('%s', (_, express) => {
  let clock: ManualClock;
  let store: MemoryStore;

  beforeEach(() => {
    clock = new ManualClock(NOON_MS);
    store = new MemoryStore({ clock });
  });

  function limited(options: AppOptions = {}): Express {
    return limitedApp(express, { store, ...options });
  }

  describe('says on every response that was counted what is left', () => {
    test('up to the limit and beyond', async () => {
      const app = limited();
      const responses = [];
      for (let i = 0; i < 5; i += 1) responses.push(await supertest(app).get('/'));
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
      const app = limited();
      for (let i = 0; i < 3; i += 1) await supertest(app).get('/').expect(200);
      const told = [];
      for (const atMs of [55_000, 55_200, 59_000, 59_001, 59_999]) {
        clock.set(NOON_MS + atMs);
        const { headers } = await supertest(app).get('/').expect(429);
        told.push([headers['retry-after'], headers['x-ratelimit-reset']]);
      }
      expect(told).toEqual(['5', '5', '1', '1', '1'].map((seconds) => [seconds, `${NOON_S + 60}`]));
      clock.set(NOON_MS + 60_000);
      await supertest(app).get('/').expect(200).expect('X-RateLimit-Remaining', '2');
    });

    test.each([
      ['/', 200],
      ['/text', 200],
      ['/stream', 200],
      ['/nowhere', 404],
      ['/fails', 500],
    ])('from %s, which answers %i', async (path, status) => {
      const response = await supertest(limited()).get(path);
      expect(response.status).toBe(status);
      expect(rateHeaders(response.headers)).toEqual([
        '3',
        '2',
        `${NOON_S + 60}`,
        undefined,
        undefined,
      ]);
    });

    test('on a 304', async () => {
      const app = limited();
      const { etag } = (await supertest(app).get('/text')).headers;
      await supertest(app)
        .get('/text')
        .set('If-None-Match', etag as string)
        .expect(304)
        .expect('X-RateLimit-Remaining', '1');
    });

    test('and leaves the handler its own Cache-Control', async () => {
      await supertest(limited()).get('/cached').expect('Cache-Control', 'public, max-age=60');
    });

    test('not found counts as well', async () => {
      const app = limited();
      const statuses = [];
      for (let i = 0; i < 4; i += 1) statuses.push((await supertest(app).get('/nope')).status);
      expect(statuses).toEqual([404, 404, 404, 429]);
    });
  });

  test('answers HEAD like GET, without a body, from the same count', async () => {
    const app = limited();
    for (let i = 0; i < 3; i += 1) await supertest(app).head('/').expect(200);
    const head = await supertest(app).head('/');
    const get = await supertest(app).get('/');
    expect([head.status, get.status]).toEqual([429, 429]);
    expect(head.text ?? '').toBe('');
    expect(comparable(head.headers)).toEqual(comparable(get.headers));
  });

  describe('preflights', () => {
    const preflight = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' };

    test('are neither limited nor counted', async () => {
      const app = limited();
      for (let i = 0; i < 3; i += 1) {
        await supertest(app)
          .options('/')
          .set(preflight)
          .expect((response) => {
            expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
          });
        await supertest(app).get('/').expect(200);
      }
      await supertest(app).options('/').set(preflight).expect(200);
      await supertest(app).get('/').expect(429);
    });

    test('count where countPreflight says so, as does any other OPTIONS', async () => {
      const counting = limited({ countPreflight: true });
      await supertest(counting).options('/').set(preflight).expect('X-RateLimit-Remaining', '2');
      const app = limited({ store: new MemoryStore({ clock }) });
      await supertest(app).options('/').expect('X-RateLimit-Remaining', '2');
      const { Origin } = preflight;
      await supertest(app).options('/').set({ Origin }).expect('X-RateLimit-Remaining', '1');
    });
  });

  test('sets no header once headers were sent', async () => {
    const app = express();
    app.use((_, response, next) => {
      response.write('early ');
      next();
    });
    app.use(rateLimit({ limit: 3, window: '1m', store }));
    app.use((_, response) => void response.end('late'));
    const response = await supertest(app).get('/nowhere');
    expect(response.text).toBe('early late');
    expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
  });

  test('an error goes through the framework', async () => {
    const errors: unknown[] = [];
    const app = express();
    app.use(rateLimit({ limit: () => Number.NaN, window: '1m' }));
    app.use(
      (
        error: unknown,
        _: unknown,
        response: { sendStatus(code: number): void },
        _next: unknown,
      ) => {
        errors.push(error);
        response.sendStatus(500);
      },
    );
    await supertest(app).get('/').expect(500);
    expect(errors).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/`limit`.*NaN/) }),
    ]);
  });

  test('next is called in the same turn where nothing is asynchronous', () => {
    const order: string[] = [];
    const middleware = rateLimit({ limit: 1, window: '1m', key: () => 'a' });
    const response = Object.assign(Object.create(express.response), { setHeader: () => {} });
    const request = Object.create(express.request, { ip: { value: '203.0.113.7' } });
    middleware(request, response, () => order.push('next'));
    order.push('after');
    expect(order).toEqual(['next', 'after']);
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
        for (let i = 0; i < 3; i += 1) {
          const { headers, text } = await supertest(app).get('/text');
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
