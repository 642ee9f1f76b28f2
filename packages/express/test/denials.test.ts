import { ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Express, Request } from 'express';
import supertest from 'supertest';
import { MemoryStore, type RateLimitOptions, rateLimit } from '../src/index.ts';
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

  describe('a denial', () => {
    test('has the status and the message that options give it', async () => {
      const app = limited({
        quota: '0/1m',
        statusCode: 420,
        message: ({ tightest }, request: Request) => `${request.path}: \u00e9 ${tightest.policy}`,
        name: 'calm',
      });
      const response = await supertest(app).get('/tea').expect(420);
      expect(response.body).toEqual({
        error: {
          code: 'RATE_LIMITED',
          message: '/tea: \u00e9 calm',
          retryAfter: null,
          resetAt: null,
          policy: 'calm',
        },
      });
      expect(response.headers['content-length']).toBe(String(Buffer.byteLength(response.text)));
      expect(rateHeaders(response.headers)).toEqual(['0', '0', undefined, undefined, 'no-store']);
    });

    test('has no rate limit headers under headers: false, but says when to retry', async () => {
      const app = limited({ headers: false });
      for (let i = 0; i < 3; i += 1) {
        const { headers } = await supertest(app).get('/').expect(200);
        expect(rateHeaders(headers)).toEqual([
          undefined,
          undefined,
          undefined,
          undefined,
          undefined,
        ]);
      }
      const { headers } = await supertest(app).get('/').expect(429);
      expect(rateHeaders(headers)).toEqual([undefined, undefined, undefined, '60', 'no-store']);
    });

    test('can be answered by a handler, which finds status and headers set', async () => {
      const app = limited({
        handler: (request, response) => {
          response.json({ slowDown: request.rateLimit?.tightest.policy });
        },
      });
      for (let i = 0; i < 3; i += 1) await supertest(app).get('/').expect(200);
      const response = await supertest(app).get('/');
      expect(response.status).toBe(429);
      expect(response.body).toEqual({ slowDown: 'default' });
      expect(rateHeaders(response.headers)).toEqual(['3', '0', `${NOON_S + 60}`, '60', 'no-store']);
    });

    test('can be answered by a handler that takes its time, or hands over', async () => {
      const late = limited({
        quota: '0/1m',
        handler: async (_, response) => {
          await new Promise(setImmediate);
          response.status(503).end('late');
        },
      });
      expect(await supertest(late).get('/')).toMatchObject({ status: 503, text: 'late' });
      const handler: RateLimitOptions['handler'] = (_, __, next) => next();
      const lenient = limited({ name: 'lenient', quota: '0/1m', handler });
      // The status was set, and this route leaves it so.
      expect(await supertest(lenient).get('/')).toMatchObject({ status: 429, body: { ok: true } });
    });

    test.each([
      [
        'throws',
        () => {
          throw new Error('The handler failed');
        },
      ],
      [
        'rejects',
        async () => {
          throw new Error('The handler failed');
        },
      ],
    ])('whose handler %s fails through the framework', async (_, handler) => {
      await supertest(limited({ quota: '0/1m', handler }))
        .get('/')
        .expect(500);
    });

    test('whose handler fails has no status of a denial, also where the framework answers alone', async () => {
      const app = express();
      // Else it would be printed.
      app.set('env', 'test');
      const handler = (): never => {
        throw new Error('The handler failed');
      };
      app.use(rateLimit({ limit: 0, window: '1m', handler }));
      await supertest(app).get('/').expect(500);
    });

    test('that a hook has answered is left alone', async () => {
      const app = limited({
        quota: '0/1m',
        onVerdict: (_, request) => void request.res?.status(418).send('short and stout'),
        handler: () => {
          throw new Error('Not to be called');
        },
      });
      expect(await supertest(app).get('/')).toMatchObject({ status: 418, text: 'short and stout' });
    });
  });
});
