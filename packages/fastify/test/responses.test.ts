import { Readable } from 'node:stream';
import { ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  type HeaderFamily,
  MemoryStore,
  type RateLimitPluginOptions,
  rateLimit,
  rateLimitHook,
} from '../src/index.ts';
import { answer, rateHeaders, send, serve } from './requests.ts';
import { versions } from './versions.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');
const NOON_S = NOON_MS / 1000;
const FIRST = ['3', '2', `${NOON_S + 60}`, undefined, undefined];

describe.each(versions)('%s', (_, fastify) => {
  let clock: ManualClock;
  let store: MemoryStore;

  beforeEach(() => {
    clock = new ManualClock(NOON_MS);
    store = new MemoryStore({ clock });
  });

  async function limited(options: Partial<RateLimitPluginOptions> = {}): Promise<FastifyInstance> {
    const app = fastify() as unknown as FastifyInstance;
    await app.register(rateLimit, { quota: 'fixed-window 3/1m', store, ...options } as never);
    return app;
  }

  test('every response says what is left, up to the limit and beyond', async () => {
    const app = await limited();
    app.get('/', () => 'served');
    const responses = [];
    for (let i = 0; i < 5; i += 1) responses.push(await app.inject('/'));
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 429, 429]);
    expect(responses.map(rateHeaders)).toEqual([
      ['3', '2', `${NOON_S + 60}`, undefined, undefined],
      ['3', '1', `${NOON_S + 60}`, undefined, undefined],
      ['3', '0', `${NOON_S + 60}`, undefined, undefined],
      ['3', '0', `${NOON_S + 60}`, '60', 'no-store'],
      ['3', '0', `${NOON_S + 60}`, '60', 'no-store'],
    ]);
  });

  describe('whatever a handler answers', () => {
    test.each<[string, (reply: FastifyReply) => unknown, number, string]>([
      ['a text', () => 'text', 200, 'text'],
      ['an object', () => ({ ok: true }), 200, '{"ok":true}'],
      ['the promise of an object', async () => ({ ok: true }), 200, '{"ok":true}'],
      ['bytes', () => Buffer.from('bytes'), 200, 'bytes'],
      ['a typed array', () => new Uint8Array([104, 105]), 200, 'hi'],
      ['a stream', () => Readable.from(['a', 'b']), 200, 'ab'],
      ['a web stream', () => new Blob(['web']).stream(), 200, 'web'],
      ['a response', () => new Response('from fetch', { status: 201 }), 201, 'from fetch'],
      ['null', () => null, 200, 'null'],
      ['nothing, in a promise', async () => undefined, 200, ''],
      ['what it sends', (reply) => void reply.send('sent'), 200, 'sent'],
      ['what it sends later', (reply) => void setImmediate(() => reply.send('sent')), 200, 'sent'],
      ['204', (reply) => reply.code(204).send(), 204, ''],
      ['a redirection', (reply) => reply.redirect('/elsewhere'), 302, ''],
      [
        'not found',
        (reply) => reply.callNotFound(),
        404,
        '{"message":"Route GET:/ not found","error":"Not Found","statusCode":404}',
      ],
      [
        'an error',
        () => {
          throw Object.assign(new Error('Teapot'), { statusCode: 418 });
        },
        418,
        '{"statusCode":418,"error":"I\'m a Teapot","message":"Teapot"}',
      ],
      [
        'a stream that fails before it begins',
        () =>
          new Readable({
            read() {
              this.destroy(new Error('Broken'));
            },
          }),
        500,
        '{"statusCode":500,"error":"Internal Server Error","message":"Broken"}',
      ],
      [
        'what it writes by hand',
        (reply) => {
          reply.hijack();
          reply.raw.writeHead(200, reply.getHeaders() as never).end('raw');
        },
        200,
        'raw',
      ],
    ])('the headers are there: %s', async (_, handler, status, body) => {
      const app = await limited();
      app.get('/', (_, reply) => handler(reply) as never);
      await serve(app, async (at) => {
        const response = await fetch(`http://127.0.0.1:${at}/`, { redirect: 'manual' });
        expect([response.status, await response.text()]).toEqual([status, body]);
        const headers = Object.fromEntries(response.headers);
        expect(rateHeaders({ headers })).toEqual(FIRST);
      });
    });

    test('a reply that was hijacked before the limiter is left alone', async () => {
      const app = fastify();
      app.addHook('onRequest', async (_, reply) => {
        reply.hijack();
        reply.raw.end('by hand');
      });
      await app.register(rateLimit, { quota: 'fixed-window 0/1m', store });
      app.get('/', () => 'not to be run');
      expect((await app.inject('/')).body).toBe('by hand');
      expect(store.size).toBe(0);
    });

    test('and headers of its own are its own', async () => {
      const app = await limited();
      app.get('/', (_, reply) =>
        reply.headers({ 'Cache-Control': 'public', 'X-RateLimit-Limit': 'ours' }).send('cached'),
      );
      expect(rateHeaders(await app.inject('/'))).toEqual([
        'ours',
        '2',
        `${NOON_S + 60}`,
        undefined,
        'public',
      ]);
    });
  });

  test('events are streamed as they come', async () => {
    const app = await limited();
    const events = new Readable({ read() {} });
    app.get('/events', (_, reply) => reply.type('text/event-stream').send(events));
    await serve(app, async (at) => {
      events.push('data: 1\n\n');
      const response = await fetch(`http://127.0.0.1:${at}/events`);
      const reader = response.body?.getReader();
      const read = async () => Buffer.from((await reader?.read())?.value ?? []).toString();
      expect(await read()).toBe('data: 1\n\n');
      events.push('data: 2\n\n');
      expect(await read()).toBe('data: 2\n\n');
      events.push(null);
      expect(await read()).toBe('');
      expect(response.headers.get('x-ratelimit-remaining')).toBe('2');
    });
  });

  test('headers that were sent already are sent once', async () => {
    const app = fastify();
    app.addHook('onRequest', async (_, { raw }) => void raw.write('early '));
    await app.register(rateLimit, { quota: 'fixed-window 1/1m', store });
    app.get('/', (_, reply) => {
      reply.hijack();
      reply.raw.end('late');
    });
    await serve(app as unknown as FastifyInstance, async (at) => {
      const text = await answer(send(at, '/'));
      expect(text).toMatch(/early[\s\S]*late/);
      expect(text).not.toMatch(/ratelimit/i);
    });
  });

  test.each<[HeaderFamily, RegExp[]]>([
    ['legacy', [/^x-ratelimit-limit: 3$/m]],
    ['draft-6', [/^ratelimit-limit: 3$/m]],
    ['draft-8', [/^ratelimit-policy: "default";q=3;w=60$/m, /^ratelimit: "default";r=2;t=60$/m]],
  ])('the headers of %s', async (headers, expected) => {
    const app = await limited({ headers } as never);
    app.get('/', () => 'served');
    const text = await serve(app, (at) => answer(send(at, '/')));
    for (const line of expected) expect(text.replaceAll('\r', '').toLowerCase()).toMatch(line);
  });

  test('what scripts of other origins may read is added to what they might before', async () => {
    const app = fastify();
    app.addHook('onRequest', async (_, reply) => {
      reply.header('Access-Control-Expose-Headers', ['X-A', 'X-B']);
    });
    await app.register(rateLimit, { quota: '3/1m', store, exposeHeaders: true });
    const { headers } = await app.inject('/');
    expect(headers['access-control-expose-headers']).toMatch(/^X-A, X-B, X-RateLimit-Limit, /);
  });

  describe('in shadow mode', () => {
    test('nothing changes for the client', async () => {
      const app = await limited({ quota: 'leaky-bucket 1 1/1h', mode: 'shadow' } as never);
      const bare = await limited({ name: 'bare', mode: 'off' });
      for (const one of [app, bare]) one.get('/', () => 'served');
      const texts = [];
      for (const one of [app, bare]) {
        texts.push(
          await serve(one, async (at) => {
            await answer(send(at, '/'));
            return answer(send(at, '/'));
          }),
        );
      }
      expect(texts[0]).toBe(texts[1]);
    });
  });

  test('preflights are neither limited nor counted, unless they are to be', async () => {
    const app = await limited();
    app.options('/', () => 'served');
    const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' };
    const preflight = { method: 'OPTIONS', url: '/', headers } as const;
    for (let i = 0; i < 5; i += 1) expect((await app.inject(preflight)).statusCode).toBe(200);
    expect(store.size).toBe(0);
    const counting = await limited({ name: 'counting', countPreflight: true });
    expect(rateHeaders(await counting.inject(preflight))).toEqual(FIRST);
  });

  describe('in the same turn', () => {
    /** What a hook does with a request that never was, in order. */
    function run(options: object, third: (order: string[]) => unknown[]): string[] {
      const order: string[] = [];
      const request = { method: 'GET', ip: '192.0.2.1', raw: { headers: {} }, routeOptions: {} };
      const reply = {
        raw: { setHeader: () => {} },
        hasHeader: () => false,
        header: () => {},
        code: () => {},
        type: () => reply,
        send: () => order.push('sent'),
      };
      rateLimitHook({ store, ...options } as never)(request, reply, ...third(order));
      order.push('after');
      return order;
    }
    const done = (order: string[]) => () => order.push('done');

    test('a request goes on', () => {
      expect(run({ quota: '5/1m' }, (order) => [done(order)])).toEqual(['done', 'after']);
    });

    test('also before parsing, where hooks have a parameter more', () => {
      const parameters = (order: string[]) => ['payload', done(order)];
      expect(run({ quota: '5/1m' }, parameters)).toEqual(['done', 'after']);
    });

    test('or is denied', () => {
      expect(run({ quota: '0/1m' }, (order) => [done(order)])).toEqual(['sent', 'after']);
    });
  });

  describe('an error of an option’s function', () => {
    test.each<[string, Partial<RateLimitPluginOptions>]>([
      [
        'goes to the error handler',
        {
          key: () => {
            throw new Error('No key');
          },
        },
      ],
      ['in a promise too', { key: () => Promise.reject(new Error('No key')) }],
      ['also where nothing is thrown', { cost: () => Promise.reject() }],
      ['also where a word is', { key: () => Promise.reject('route') }],
      ['and where there is no key', { key: () => undefined }],
      ['and where a limit is none', { quota: () => 'none' } as never],
    ])('%s', async (_, options) => {
      const errors: unknown[] = [];
      const app = await limited(options);
      app.setErrorHandler((error, _, reply) => {
        errors.push(error);
        reply.code(500).send('failed');
      });
      app.get('/', () => 'not to be served');
      const { statusCode, body } = await app.inject('/');
      expect([statusCode, body]).toEqual([500, 'failed']);
      expect(errors).toHaveLength(1);
      expect(errors[0]).toBeInstanceOf(Error);
    });

    test.each<[string, Partial<RateLimitPluginOptions>]>([
      ['at once', {}],
      ['later', { key: async () => 'everyone' }],
    ])('what is thrown by Fastify itself further on fails the request (%s)', async (_, options) => {
      const app = await limited(options);
      const errors: unknown[] = [];
      app.addHook('onError', async (_request, _reply, error) => void errors.push(error));
      // No serializer is for objects of this type.
      app.get('/', (_, reply) => reply.type('text/plain').send({ an: 'object' }));
      expect((await app.inject('/')).statusCode).toBe(500);
      expect(errors).toHaveLength(1);
    });

    test('what a hook throws further on is not taken for one', async () => {
      const app = await limited();
      const errors: unknown[] = [];
      app.addHook('onRequest', () => {
        throw new Error('Further on');
      });
      app.addHook('onError', async (_request, _reply, error) => void errors.push(error.message));
      app.get('/', () => 'served');
      expect((await app.inject('/')).statusCode).toBe(500);
      expect(errors).toEqual(['Further on']);
    });
  });
});
