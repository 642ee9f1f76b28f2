import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { type LimitingHook, rateLimit, rateLimitHook } from '../src/index.ts';
import { serve, statuses } from './requests.ts';
import { versions } from './versions.ts';

const HOOKS: readonly LimitingHook[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler'];
const two = { quota: 'fixed-window 2/1h', key: () => 'everyone' };

describe.each(versions)('%s', (_, fastify) => {
  describe.each(HOOKS)('by the hook %s, nothing goes past the limiter', (hook) => {
    test.each<[string, (app: FastifyInstance) => unknown, string]>([
      [
        'a route that was there before',
        async (app) => {
          app.get('/route', () => 'served');
          await app.register(rateLimit, { ...two, hook });
        },
        '/route',
      ],
      [
        'a route that came later',
        async (app) => {
          await app.register(rateLimit, { ...two, hook });
          app.get('/route', () => 'served');
        },
        '/route',
      ],
      [
        'a route that comes while the plugin is waited for by nobody',
        (app) => {
          app.register(rateLimit, { ...two, hook });
          app.get('/route', () => 'served');
        },
        '/route',
      ],
      [
        'a plugin within that was there before',
        async (app) => {
          await app.register(async (inner) => inner.get('/route', () => 'served'), {
            prefix: '/inner',
          });
          await app.register(rateLimit, { ...two, hook });
        },
        '/inner/route',
      ],
      [
        'a plugin within a plugin that came later',
        async (app) => {
          await app.register(rateLimit, { ...two, hook });
          await app.register(
            async (outer) => {
              await outer.register(async (inner) => inner.get('/route', () => 'served'), {
                prefix: '/inner',
              });
            },
            { prefix: '/outer' },
          );
        },
        '/outer/inner/route',
      ],
      [
        'what is not found',
        async (app) => {
          await app.register(rateLimit, { ...two, hook });
        },
        '/nowhere',
      ],
      [
        'what is not found, under a handler from before',
        async (app) => {
          app.setNotFoundHandler((_, reply) => reply.code(200).send('not found'));
          await app.register(rateLimit, { ...two, hook });
        },
        '/nowhere',
      ],
      [
        'what is not found, under a handler that came later',
        async (app) => {
          await app.register(rateLimit, { ...two, hook });
          app.setNotFoundHandler((_, reply) => reply.code(200).send('not found'));
        },
        '/nowhere',
      ],
      [
        'what is not found, under the handler of a plugin within',
        async (app) => {
          await app.register(rateLimit, { ...two, hook });
          await app.register(
            async (inner) => {
              inner.setNotFoundHandler((_, reply) => reply.code(200).send('not found'));
            },
            { prefix: '/inner' },
          );
        },
        '/inner/nowhere',
      ],
      [
        'a method that a route has not',
        async (app) => {
          app.get('/route', () => 'served');
          await app.register(rateLimit, { ...two, hook });
        },
        'POST /route',
      ],
      [
        'a HEAD that Fastify added',
        async (app) => {
          app.get('/route', () => 'served');
          await app.register(rateLimit, { ...two, hook });
        },
        'HEAD /route',
      ],
      [
        'a HEAD that is a route',
        async (app) => {
          await app.register(rateLimit, { ...two, hook });
          app.head('/route', (_, reply) => reply.send());
        },
        'HEAD /route',
      ],
      [
        'OPTIONS without a preflight',
        async (app) => {
          await app.register(rateLimit, { ...two, hook });
          app.options('/route', () => 'served');
        },
        'OPTIONS /route',
      ],
    ])('%s', async (_, set, request) => {
      const app = fastify();
      await set(app);
      const [first, second, third] = await statuses(app, request, request, request);
      expect([first, third]).toEqual([second, 429]);
      expect([200, 404]).toContain(first);
    });
  });

  test('a request in a plugin with a prefix counts once', async () => {
    const app = fastify();
    await app.register(rateLimit, { limit: 10, window: '1h' });
    await app.register(async (inner) => inner.get('/route', () => 'served'), { prefix: '/inner' });
    const { headers } = await app.inject('/inner/route');
    expect(headers['x-ratelimit-remaining']).toBe('9');
  });

  test('a context is not limited by what is registered in the one beside it', async () => {
    const app = fastify();
    await app.register(
      async (limited) => {
        await limited.register(rateLimit, two);
        limited.get('/route', () => 'served');
      },
      { prefix: '/limited' },
    );
    await app.register(async (free) => free.get('/route', () => 'served'), { prefix: '/free' });
    const free = '/free/route';
    expect(await statuses(app, free, free, free)).toEqual([200, 200, 200]);
    const route = '/limited/route';
    expect(await statuses(app, route, route, route)).toEqual([200, 200, 429]);
    // What is not found under its prefix is the root's, unless it has a handler for that.
    expect(await statuses(app, '/limited/nowhere')).toEqual([404]);
  });

  test('a URL that cannot be read is answered before any hook, limited or not', async () => {
    const app = fastify();
    await app.register(rateLimit, two);
    app.get('/:id', () => 'served');
    expect(await statuses(app, '/%zz', '/%zz', '/%zz')).toEqual([400, 400, 400]);
    expect(await statuses(app, '/1', '/2', '/3')).toEqual([200, 200, 429]);
  });

  test('one that calls what is not found from its handler counts once', async () => {
    for (const hook of HOOKS) {
      const app = fastify();
      await app.register(rateLimit, { limit: 10, window: '1h', hook });
      app.get('/gone', (_, reply) => reply.callNotFound());
      const response = await app.inject('/gone');
      expect([response.statusCode, response.headers['x-ratelimit-remaining']]).toEqual([404, '9']);
    }
  });

  test('what is denied on request is neither parsed nor validated, and runs no handler', async () => {
    const app = fastify();
    const ran: string[] = [];
    await app.register(rateLimit, two);
    app.addHook('preParsing', async () => void ran.push('preParsing'));
    app.addHook('preHandler', async () => void ran.push('preHandler'));
    app.post('/', () => void ran.push('handler'));
    const post = {
      method: 'POST',
      url: '/',
      payload: '{',
      headers: { 'content-type': 'application/json' },
    } as const;
    const answers = [];
    for (let i = 0; i < 3; i += 1) answers.push((await app.inject(post)).statusCode);
    expect(answers).toEqual([400, 400, 429]);
    expect(ran).toEqual(['preParsing', 'preParsing']);
  });

  describe('where the plugin was not waited for', () => {
    test('a not-found handler is limited by it all the same', async () => {
      const app = fastify();
      app.register(rateLimit, two);
      app.setNotFoundHandler((_, reply) => reply.code(404).send('nothing'));
      expect(await statuses(app, '/nope', '/nope', '/nope')).toEqual([404, 404, 429]);
    });

    test('a hook can be made without it', async () => {
      const app = fastify();
      app.register(rateLimit, { limit: 100, window: '1h' });
      app.setNotFoundHandler({ preHandler: rateLimitHook(two) }, (_, reply) =>
        reply.code(404).send('nothing'),
      );
      expect(await statuses(app, '/nope', '/nope', '/nope')).toEqual([404, 404, 429]);
    });
  });

  test('each of the requests that are pipelined on one connection counts', async () => {
    const app = fastify();
    await app.register(rateLimit, two);
    app.get('/', () => 'served');
    const answers = await serve(app, (at) => {
      const pipelined = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3);
      const socket = connect(at as number, '127.0.0.1');
      socket.write(pipelined.replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'));
      return text(socket);
    });
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '200',
      '200',
      '429',
    ]);
  });
});
