import { Readable } from 'node:stream';
import { ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type Koa from 'koa';
import type { Context, Next } from 'koa';
import supertest from 'supertest';
import { byHeader, MemoryStore, rateLimit } from '../src/index.ts';
import { quietApp, rateHeaders } from './app.ts';
import { answer, send, serve } from './server.ts';
import { versions } from './versions.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');
const RESET = String(NOON_MS / 1000 + 60);

// Koa answers an error by removing every header first.
describe.each(versions)('%s', (name, make) => {
  let store: MemoryStore;
  let errors: unknown[];

  beforeEach(() => {
    store = new MemoryStore({ clock: new ManualClock(NOON_MS) });
    errors = [];
  });

  /** An app that is limited to three a minute, with middleware before and after the limiter. */
  function app(
    after: (ctx: Context) => unknown,
    before?: (ctx: Context, next: Next) => unknown,
  ): Koa {
    const app = quietApp(make, errors);
    if (before !== undefined) app.use(before);
    app.use(rateLimit({ quota: 'fixed-window 3/1m', store }));
    app.use(after);
    return app;
  }

  describe('an error says what is left', () => {
    test.each<[string, number, unknown]>([
      ['an error', 500, new Error('Told to fail')],
      ['an error with a status', 400, Object.assign(new Error('No'), { status: 400 })],
      ['an error of another realm', 500, Object.create(Error.prototype)],
      ['a text', 500, 'text'],
      ['a number', 500, 0],
      ['an object', 500, { status: 400 }],
    ])('that is %s', async (_, status, thrown) => {
      const failing = app(() => {
        throw thrown;
      });
      const response = await supertest(failing.callback()).get('/');
      expect(response.status).toBe(status);
      expect(rateHeaders(response.headers)).toEqual(['3', '2', RESET, undefined, undefined]);
      expect(errors).toHaveLength(1);
    });

    test('that comes later', async () => {
      const failing = app(async () => {
        await new Promise(setImmediate);
        throw new Error('Told to fail');
      });
      await supertest(failing.callback()).get('/').expect(500).expect('X-RateLimit-Remaining', '2');
    });

    test('that is thrown by Koa, with headers of its own, which come first', async () => {
      const failing = app((ctx) => {
        ctx.set('X-Other', 'goes, as with Koa');
        ctx.throw(403, 'Not you', { headers: { 'X-RateLimit-Limit': 'mine', 'X-Own': 'stays' } });
      });
      const { status, text, headers } = await supertest(failing.callback()).get('/');
      expect([status, text]).toEqual([403, 'Not you']);
      expect(rateHeaders(headers)).toEqual(['mine', '2', RESET, undefined, undefined]);
      expect(headers['x-own']).toBe('stays');
      expect(headers).not.toHaveProperty('x-other');
      expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    });

    test('that is thrown before the limiter, when what comes after is done', async () => {
      const failing = app(
        (ctx) => {
          ctx.body = 'fine';
        },
        async (_, next) => {
          await next();
          throw new Error('Told to fail');
        },
      );
      await supertest(failing.callback()).get('/').expect(500).expect('X-RateLimit-Remaining', '2');
    });

    test('that is a body that JSON cannot hold', async () => {
      const body: Record<string, unknown> = {};
      body.body = body;
      const failing = app((ctx) => {
        ctx.body = body;
      });
      await supertest(failing.callback()).get('/').expect(500).expect('X-RateLimit-Remaining', '2');
    });

    // Koa 3 cuts the connection instead.
    if (name === 'Koa 2') {
      test('that is a stream without a first byte', async () => {
        const failing = app((ctx) => {
          ctx.body = new Readable({ construct: (done) => done(new Error('Told to fail')) });
        });
        await supertest(failing.callback())
          .get('/')
          .expect(500)
          .expect('X-RateLimit-Remaining', '2');
      });
    }
  });

  test('an error is the same for those who catch it, and has nothing of ours', async () => {
    const thrown = Object.freeze(new Error('Told to fail'));
    let caught: unknown;
    const failing = app(
      () => {
        throw thrown;
      },
      async (ctx, next) => {
        try {
          await next();
        } catch (error) {
          caught = error;
          ctx.body = 'caught';
        }
      },
    );
    const { headers, text } = await supertest(failing.callback()).get('/').expect(200);
    expect(caught).toBe(thrown);
    expect(text).toBe('caught');
    expect(rateHeaders(headers)).toEqual(['3', '2', RESET, undefined, undefined]);
  });

  test('an error that many requests share tells each its own', async () => {
    const failure = Promise.reject(new Error('Not connected'));
    failure.catch(() => {});
    const failing = quietApp(make, errors);
    failing.use(rateLimit({ quota: 'fixed-window 3/1m', store, key: byHeader('X-Client') }));
    failing.use(() => failure);
    await serve(failing, async (at) => {
      const ask = (client: string): Promise<string> => answer(send(at, '/', `X-Client: ${client}`));
      const answers = [await ask('a'), ...(await Promise.all([ask('a'), ask('b'), ask('c')]))];
      expect(answers.map((text) => /x-ratelimit-remaining: (\d)/i.exec(text)?.[1])).toEqual([
        '2',
        '1',
        '2',
        '2',
      ]);
    });
  });

  test('two limiters both keep what they said', async () => {
    const failing = app(
      () => {
        throw new Error('Told to fail');
      },
      rateLimit({
        name: 'outer',
        quota: 'fixed-window 1/1m',
        store,
        headers: 'draft-8',
      }) as (ctx: Context, next: Next) => unknown,
    );
    const { headers } = await supertest(failing.callback()).get('/').expect(500);
    expect(headers.ratelimit).toBe('"outer";r=0;t=60');
    expect(rateHeaders(headers)).toEqual(['3', '2', RESET, undefined, undefined]);
  });

  test('headers can be removed as ever where there was no error', async () => {
    const fine = app((ctx) => {
      // Koa lets it be a callback of Node.js's.
      ctx.onerror(null as never);
      for (const name of ctx.res.getHeaderNames()) ctx.res.removeHeader(name);
      ctx.body = 'fine';
    });
    const { headers } = await supertest(fine.callback()).get('/').expect(200);
    expect(headers).not.toHaveProperty('x-ratelimit-limit');
  });

  test('an error of the limiter goes through Koa', async () => {
    const failing = quietApp(make, errors);
    failing.use(rateLimit({ limit: () => Number.NaN, window: '1m' }));
    await supertest(failing.callback()).get('/').expect(500);
    expect(errors).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/`limit`.*NaN/) }),
    ]);
  });
});
