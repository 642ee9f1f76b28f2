import { FailingStore, ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MemoryStore, type RateLimitPluginOptions, rateLimit } from '../src/index.ts';
import { answer, rateHeaders, send, serve } from './requests.ts';
import { versions } from './versions.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');
const NOON_S = NOON_MS / 1000;
const BODY =
  '{"error":{"code":"RATE_LIMITED","message":"Rate limit exceeded. Try again in 1 minute.",' +
  `"retryAfter":60,"resetAt":${NOON_S + 60},"policy":"default"}}`;

describe.each(versions)('%s', (_, fastify) => {
  let clock: ManualClock;
  let store: MemoryStore;

  beforeEach(() => {
    clock = new ManualClock(NOON_MS);
    store = new MemoryStore({ clock });
  });

  /** An app whose client has used its one request a minute. */
  async function spent(
    options: Partial<RateLimitPluginOptions> = {},
    set: (app: FastifyInstance) => unknown = () => {},
  ): Promise<FastifyInstance> {
    const app = fastify() as unknown as FastifyInstance;
    await set(app);
    await app.register(rateLimit, { quota: 'fixed-window 1/1m', store, ...options } as never);
    app.get('/', async () => ({ ok: true }));
    await app.inject('/');
    return app;
  }

  describe('a denial', () => {
    test('has status, headers and body, and is no error', async () => {
      const errors: unknown[] = [];
      const app = await spent({}, (app) => {
        app.addHook('onError', async (_request, _reply, error) => void errors.push(error));
        app.setErrorHandler((error) => void errors.push(error));
      });
      const response = await app.inject('/');
      expect([response.statusCode, response.body]).toEqual([429, BODY]);
      expect(rateHeaders(response)).toEqual(['1', '0', `${NOON_S + 60}`, '60', 'no-store']);
      expect(response.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(BODY.length),
      });
      expect(errors).toEqual([]);
    });

    test.each(['/', '/nowhere'])('of HEAD %s is like that of GET, without a body', async (url) => {
      const app = await spent();
      const [head, get] = await serve(app, async (at) => {
        const request = (method: string) => fetch(`http://127.0.0.1:${at}${url}`, { method });
        return [await request('HEAD'), await request('GET')];
      });
      expect([head?.status, await head?.text()]).toEqual([429, '']);
      expect([get?.status, await get?.text()]).toEqual([429, BODY]);
      expect(comparable(head)).toEqual(comparable(get));
    });

    test('is not touched by what the application makes of its own answers', async () => {
      const app = await spent({}, (app) => {
        app.setReplySerializer(() => 'theirs');
        app.addHook('onRequest', async (_, reply) => {
          reply.serializer(() => 'theirs').type('application/msgpack');
        });
      });
      const { body, headers } = await app.inject('/');
      expect([body, headers['content-type']]).toEqual([BODY, 'application/json; charset=utf-8']);
    });

    test('keeps the headers that were set before the limiter', async () => {
      const app = await spent({}, (app) =>
        app.addHook('onRequest', async (_, reply) => {
          reply.header('Access-Control-Allow-Origin', '*');
        }),
      );
      expect((await app.inject('/')).headers['access-control-allow-origin']).toBe('*');
    });

    test('goes through the hooks before sending, as any answer does', async () => {
      const app = await spent({}, (app) =>
        app.addHook('onSend', async (_, reply, payload) => {
          reply.header('X-Bytes', String((payload as Buffer).length));
        }),
      );
      const { headers } = await app.inject('/');
      expect(headers['x-bytes']).toBe(String(BODY.length));
    });

    test.each([
      ['text', () => 'Slow down: \u00e9', 'Slow down: \u00e9'],
      ['bytes', () => Buffer.from([0, 255]), '\0\uFFFD'],
      ['nothing', () => undefined, ''],
      ['an empty object', () => ({}), '{}'],
      ['an error without a status', () => new Error('No.'), /./],
      ['another status inside', () => ({ statusCode: 500 }), '{"statusCode":500}'],
    ])('has its status whatever its body is (%s)', async (_, body, expected) => {
      const app = await spent({ body } as never);
      const response = await app.inject('/');
      expect(response.statusCode).toBe(429);
      expect(response.body).toEqual(
        typeof expected === 'string' ? expected : expect.stringMatching(expected),
      );
      expect(response.headers['content-length']).toBe(String(response.rawPayload.length));
      expect(rateHeaders(response)).toEqual(['1', '0', `${NOON_S + 60}`, '60', 'no-store']);
    });
  });

  describe('a handler answers in its place', () => {
    const text = 'try later';
    test.each<[string, (request: FastifyRequest, reply: FastifyReply) => unknown, string]>([
      ['by what it returns', () => ({ text }), `{"text":"${text}"}`],
      ['by a text', () => text, text],
      ['by the promise of an answer', async () => ({ text }), `{"text":"${text}"}`],
      ['by sending', (_, reply) => void reply.send(text), text],
      ['by sending, and returning the reply', (_, reply) => reply.send(text), text],
      ['by sending later', (_, reply) => void setImmediate(() => reply.send(text)), text],
      [
        'by sending later, and returning the reply at once',
        (_, reply) => {
          setImmediate(() => reply.send(text));
          return reply;
        },
        text,
      ],
      [
        'by sending later, and returning the reply',
        async (_, reply) => {
          setImmediate(() => reply.send(text));
          return reply;
        },
        text,
      ],
      ['by a promise of nothing', async () => {}, ''],
      [
        'by hand',
        (_, reply) => {
          reply.hijack();
          reply.raw.writeHead(reply.statusCode, reply.getHeaders() as never).end(text);
        },
        text,
      ],
      ['knowing the verdict', ({ rateLimit }) => rateLimit?.tightest.policy, 'default'],
    ])('%s', async (_, handler, body) => {
      const response = await (await spent({ handler })).inject('/');
      expect([response.statusCode, response.body]).toEqual([429, body]);
      expect(rateHeaders(response)).toEqual(['1', '0', `${NOON_S + 60}`, '60', 'no-store']);
    });

    test('and what it sent in a promise is sent once', async () => {
      const sent: unknown[] = [];
      const handler = async (_: unknown, reply: FastifyReply): Promise<void> => {
        const send = reply.send.bind(reply);
        reply.send = (payload) => {
          sent.push(payload);
          return send(payload);
        };
        reply.send('once');
      };
      await (await spent({ handler })).inject('/');
      await new Promise(setImmediate);
      expect(sent).toEqual(['once']);
    });

    test('with another status, if it likes', async () => {
      const handler = (_: unknown, reply: FastifyReply) => reply.code(418).send('short and stout');
      const { statusCode, body } = await (await spent({ handler })).inject('/');
      expect([statusCode, body]).toEqual([418, 'short and stout']);
    });

    test.each([
      [
        'throws',
        () => {
          throw new Error('The handler failed');
        },
      ],
      ['rejects', () => Promise.reject(new Error('The handler failed'))],
      ['rejects with nothing', () => Promise.reject()],
    ])('and fails through the error handler where it %s', async (_, handler) => {
      const errors: unknown[] = [];
      const app = await spent({ handler }, (app) =>
        app.addHook('onError', async (_request, _reply, error) => void errors.push(error)),
      );
      expect((await app.inject('/')).statusCode).toBe(500);
      expect(errors).toHaveLength(1);
    });
  });

  describe('throwOnLimit', () => {
    test('hands an error to the error handler, with headers and status set', async () => {
      const seen: unknown[] = [];
      const app = await spent({ throwOnLimit: true }, (app) =>
        app.setErrorHandler((error, { rateLimit }, reply) => {
          seen.push(error, rateLimit);
          reply.send({ from: 'the error handler' });
        }),
      );
      const response = await app.inject('/');
      expect([response.statusCode, response.json()]).toEqual([429, { from: 'the error handler' }]);
      expect(rateHeaders(response)).toEqual(['1', '0', `${NOON_S + 60}`, '60', 'no-store']);
      const [error, verdict] = seen as [{ verdict: unknown }, unknown];
      expect(error).toBeInstanceOf(Error);
      expect(error).toMatchObject({ code: 'FLOODGATE_RATE_LIMITED', statusCode: 429 });
      expect(error.verdict).toBe(verdict);
    });

    test('is answered by Fastify where there is no error handler', async () => {
      const response = await (await spent({ throwOnLimit: true, statusCode: 420 })).inject('/');
      expect(response.statusCode).toBe(420);
      expect(response.json()).toMatchObject({ statusCode: 420, code: 'FLOODGATE_RATE_LIMITED' });
      expect(rateHeaders(response)).toEqual(['1', '0', `${NOON_S + 60}`, '60', 'no-store']);
    });

    test('says so where it is the store that failed', async () => {
      const failing = new FailingStore(store);
      failing.fail();
      const rule = { store: failing, onStoreError: 'deny', onEvent: () => {} } as const;
      const response = await (await spent({ throwOnLimit: true, ...rule })).inject('/');
      expect(response.json()).toMatchObject({
        statusCode: 503,
        code: 'FLOODGATE_RATE_LIMITER_UNAVAILABLE',
        message: 'The rate limiter is unavailable',
      });
    });

    test('leaves a route its own handler', async () => {
      const app = fastify();
      await app.register(rateLimit, { quota: '10/1m', throwOnLimit: true });
      const own = { quota: '0/1m', handler: () => 'the route’s' };
      app.get('/', { config: { rateLimit: own } }, () => 'served');
      const { statusCode, body } = await app.inject('/');
      expect([statusCode, body]).toEqual([429, 'the route’s']);
    });

    test.each(['handler', 'body', 'message'])('contradicts a %s', async (name) => {
      const both = { quota: '1/1m', throwOnLimit: true, [name]: () => '' };
      await expect(async () => fastify().register(rateLimit, both)).rejects.toMatchObject({
        code: 'FLOODGATE_INVALID_OPTION',
        message: expect.stringMatching(new RegExp(`\`throwOnLimit\`.*\`${name}\``)),
      });
    });
  });

  describe('what is answered already is left alone:', () => {
    test('by a hook that is told of the verdict', async () => {
      const replies = new WeakMap<FastifyRequest, FastifyReply>();
      const handled: unknown[] = [];
      const app = await spent(
        {
          onVerdict: ({ allowed }, request) => {
            if (!allowed) replies.get(request)?.code(418).send('short and stout');
          },
          handler: (request) => handled.push(request),
        },
        (app) =>
          app.addHook('onRequest', async (request, reply) => void replies.set(request, reply)),
      );
      const text = await serve(app, (at) => answer(send(at, '/')));
      expect(text).toMatch(/^HTTP\/1.1 418 /);
      expect(text).toMatch(/\r\n\r\nshort and stout$/);
      expect(text).not.toMatch(/ratelimit/i);
      expect(handled).toEqual([]);
    });

    test('by hand, and not to its end yet', async () => {
      const app = await spent({ quota: '0/1m' }, (app) =>
        app.addHook('onRequest', async (_, { raw }) => {
          raw.write('begun, ');
          setImmediate(() => raw.end('and done'));
        }),
      );
      expect(await serve(app, (at) => answer(send(at, '/')))).toMatch(
        /^HTTP\/1.1 200 [\s\S]*begun, [\s\S]*and done/,
      );
    });
  });
});

/** What neither the time of day nor the connection is the reason for. */
function comparable(response: Response | undefined): Record<string, string> {
  const {
    date,
    connection,
    'keep-alive': keepAlive,
    ...headers
  } = Object.fromEntries(response?.headers ?? []);
  return headers;
}
