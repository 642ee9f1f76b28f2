import { ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type Koa from 'koa';
import type { Context } from 'koa';
import supertest from 'supertest';
import { MemoryStore, rateLimit } from '../src/index.ts';
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

  describe('a denial', () => {
    test('has the status and the message that options give it', async () => {
      const app = limited({
        quota: '0/1m',
        statusCode: 420,
        message: ({ tightest }, ctx: Context) => `${ctx.path}: \u00e9 ${tightest.policy}`,
        name: 'calm',
      });
      const response = await supertest(app.callback()).get('/tea').expect(420);
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
      const agent = supertest(limited({ headers: false }).callback());
      const none = [undefined, undefined, undefined, undefined, undefined];
      for (let i = 0; i < 3; i += 1) {
        const { headers } = await agent.get('/').expect(200);
        expect(rateHeaders(headers)).toEqual(none);
      }
      const { headers } = await agent.get('/').expect(429);
      expect(rateHeaders(headers)).toEqual([undefined, undefined, undefined, '60', 'no-store']);
    });

    const bytes = new Uint8Array([0x7b, 0, 0xff]).subarray(1);
    test.each<[what: string, body: unknown, type: string | undefined, sent: string]>([
      ['a text', 'No.', 'text/plain; charset=utf-8', 'No.'],
      ['a text that is empty', '', 'text/plain; charset=utf-8', ''],
      ['a text that looks like HTML', ' <b>No.</b>', 'text/plain; charset=utf-8', ' <b>No.</b>'],
      ['bytes', bytes, 'application/octet-stream', '\0\xff'],
      ['a value', { no: [1] }, 'application/json; charset=utf-8', '{"no":[1]}'],
      ['nothing', undefined, undefined, ''],
    ])('has a body of its own, byte for byte: %s', async (_, body, type, sent) => {
      // What was set for a response that is not to come leaves no trace.
      const app = quietApp(make);
      app.use((ctx, next) => {
        ctx.body = { welcome: true };
        return next();
      });
      app.use(rateLimit({ quota: '0/1m', store, body: () => body }));
      const text = await serve(app, (at) => answer(send(at, '/')));
      const [head = '', ...rest] = text.split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
      expect(/^content-type: (.*)$/im.exec(head)?.[1]?.trim()).toBe(type);
      expect(head).toMatch(
        new RegExp(`^content-length: ${Buffer.from(sent, 'latin1').length}$`, 'im'),
      );
      // The socket's text was read as UTF-8.
      expect(rest.join()).toBe(Buffer.from(sent, 'latin1').toString());
    });

    test('that has no body is answered like that to HEAD as well', async () => {
      const app = limited({ quota: '0/1m', body: () => undefined });
      const { status, headers } = await supertest(app.callback()).head('/');
      expect([status, headers['content-length'], headers['content-type']]).toEqual([
        429,
        '0',
        undefined,
      ]);
    });

    test('can be answered by a handler, which finds status and headers set', async () => {
      const app = limited({
        handler: (ctx) => {
          ctx.body = { slowDown: ctx.state.rateLimit?.tightest.policy, status: ctx.status };
        },
      });
      const agent = supertest(app.callback());
      for (let i = 0; i < 3; i += 1) await agent.get('/').expect(200);
      const response = await agent.get('/');
      expect(response.status).toBe(429);
      expect(response.body).toEqual({ slowDown: 'default', status: 429 });
      expect(rateHeaders(response.headers)).toEqual(['3', '0', `${NOON_S + 60}`, '60', 'no-store']);
    });

    test('can be answered by a handler that takes its time, or hands over', async () => {
      const late = limited({
        quota: '0/1m',
        handler: async (ctx) => {
          await new Promise(setImmediate);
          ctx.status = 503;
          ctx.body = 'late';
        },
      });
      expect(await supertest(late.callback()).get('/')).toMatchObject({
        status: 503,
        text: 'late',
      });
      const lenient = limited({ name: 'lenient', quota: '0/1m', handler: (_, next) => next() });
      // The status was set, and this route leaves it so.
      expect(await supertest(lenient.callback()).get('/')).toMatchObject({
        status: 429,
        body: { ok: true },
      });
    });

    test('whose handler says nothing is what Koa makes of it', async () => {
      const app = limited({ quota: '0/1m', handler: () => {} });
      expect(await supertest(app.callback()).get('/')).toMatchObject({
        status: 429,
        text: 'Too Many Requests',
      });
    });

    test('whose handler answers past Koa is left to it', async () => {
      const app = limited({
        quota: '0/1m',
        handler: (ctx) => {
          ctx.respond = false;
          setImmediate(() => ctx.res.end('raw'));
        },
      });
      expect(await supertest(app.callback()).get('/')).toMatchObject({ status: 429, text: 'raw' });
    });

    test('whose handler throws as one does in Koa keeps its headers', async () => {
      const app = limited({
        quota: 'fixed-window 1/1m',
        handler: (ctx) => ctx.throw(429, 'Slow down', { headers: { 'Retry-After': '90' } }),
      });
      const agent = supertest(app.callback());
      await agent.get('/').expect(200);
      const { status, text, headers } = await agent.get('/');
      expect([status, text]).toEqual([429, 'Slow down']);
      expect(rateHeaders(headers)).toEqual(['1', '0', `${NOON_S + 60}`, '90', 'no-store']);
    });

    test('that a hook has answered is left alone', async () => {
      const app = limited({
        quota: '0/1m',
        onVerdict: (_, ctx) => {
          ctx.res.statusCode = 418;
          ctx.res.end('short and stout');
        },
        handler: () => {
          throw new Error('Not to be called');
        },
      });
      expect(await supertest(app.callback()).get('/')).toMatchObject({
        status: 418,
        text: 'short and stout',
      });
    });
  });

  test('a request that a hook has answered goes no further', async () => {
    let served = 0;
    const app = quietApp(make);
    app.use(rateLimit({ quota: '5/1m', store, onVerdict: (_, ctx) => void ctx.res.end('mine') }));
    app.use(() => {
      served += 1;
    });
    expect((await supertest(app.callback()).get('/')).text).toBe('mine');
    expect(served).toBe(0);
  });

  test('the verdict is on the context, and was there for what comes after', async () => {
    const seen: unknown[] = [];
    const app = quietApp(make);
    app.use(async (ctx, next) => {
      await next();
      seen.push(ctx.state.rateLimit?.allowed);
    });
    app.use(rateLimit({ quota: 'fixed-window 1/1m', store }));
    app.use((ctx) => {
      ctx.body = String(ctx.state.rateLimit?.tightest.remaining);
    });
    const agent = supertest(app.callback());
    expect((await agent.get('/').expect(200)).text).toBe('0');
    await agent.get('/').expect(429);
    expect(seen).toEqual([true, false]);
  });
});
