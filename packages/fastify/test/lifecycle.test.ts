import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { FailingStore, ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  byIp,
  byUser,
  type FloodgateEvent,
  keys,
  type LimiterHandle,
  MemoryStore,
  type RateLimitPluginOptions,
  rateLimit,
  rateLimitHook,
} from '../src/index.ts';
import { answer, send, serve, statuses } from './requests.ts';
import { theirRateLimit } from './their-rate-limit.ts';
import { versions } from './versions.ts';

describe.each(versions)('%s', (_, fastify) => {
  let clock: ManualClock;
  let store: MemoryStore;

  beforeEach(() => {
    clock = new ManualClock(Date.parse('2026-02-18T12:00:00Z'));
    store = new MemoryStore({ clock });
  });

  /** Until the server has done what it can do without the clock going on. */
  async function settled(sleeping: number): Promise<void> {
    while (clock.sleeping !== sleeping) await new Promise(setImmediate);
  }

  describe('a shaped leaky bucket', () => {
    let served: string[];

    async function shaped(
      set: (app: FastifyInstance) => unknown = () => {},
    ): Promise<FastifyInstance> {
      served = [];
      const app = fastify() as unknown as FastifyInstance;
      await set(app);
      await app.register(rateLimit, { quota: 'leaky-bucket 3 2/1s', store });
      app.get<{ Params: { id: string } }>('/:id', ({ params }) => {
        served.push(params.id);
        return 'served';
      });
      return app;
    }

    test('serves at a constant rate, by the clock of its store', async () => {
      await serve(await shaped(), async (at) => {
        await answer(send(at, '/a'));
        const later = [];
        for (const [i, id] of ['b', 'c'].entries()) {
          later.push(answer(send(at, `/${id}`)));
          await settled(i + 1);
        }
        expect(await answer(send(at, '/d'))).toMatch(/^HTTP\/1.1 429/);
        clock.advance(499);
        expect(served).toEqual(['a']);
        clock.advance(1);
        await later[0];
        expect(served).toEqual(['a', 'b']);
        clock.advance(500);
        expect(await later[1]).toMatch(/^x-ratelimit-remaining: 0\r$/im);
        expect(served).toEqual(['a', 'b', 'c']);
      });
    });

    test('runs nothing more for a client that went away, and keeps no timer', async () => {
      const ran: string[] = [];
      const note = (hook: string) => async () => void ran.push(hook);
      const app = await shaped((app) => {
        app.addHook('preHandler', note('preHandler'));
        app.addHook('onSend', note('onSend'));
        app.addHook('onError', note('onError'));
      });
      await serve(app, async (at) => {
        await answer(send(at, '/a'));
        const before = [...ran];
        const leaving = send(at, '/b');
        await settled(1);
        leaving.destroy();
        await settled(0);
        clock.advance(60_000);
        await new Promise(setImmediate);
        expect(ran).toEqual(before);
        await answer(send(at, '/c'));
        expect(served).toEqual(['a', 'c']);
      });
    });

    test('and has nothing to say to one that went before it was decided', async () => {
      const said: unknown[] = [];
      const app = fastify() as unknown as FastifyInstance;
      app.addHook('onError', async (_request, _reply, error) => void said.push(error));
      const goesAway = async ({ raw }: FastifyRequest): Promise<undefined> => {
        clock.advance(1);
        await once(raw.socket, 'close');
      };
      const onEvent = (event: FloodgateEvent) => said.push(event);
      await app.register(rateLimit, { quota: '5/1m', key: [goesAway, byIp()], store, onEvent });
      await serve(app, async (at) => {
        const before = clock.now();
        const leaving = send(at, '/');
        while (clock.now() === before) await new Promise(setImmediate);
        leaving.destroy();
        for (let i = 0; i < 5; i += 1) await new Promise(setImmediate);
      });
      expect(said).toEqual([]);
    });

    test('lets those go that wait behind others on a connection that closes', async () => {
      await serve(await shaped(), async (at) => {
        const socket = connect(at as number, '127.0.0.1');
        socket.write('GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3));
        await settled(2);
        socket.destroy();
        await settled(0);
        expect(served).toEqual(['x']);
      });
    });

    test('removes its listeners when the turn has come', async () => {
      const counts: number[] = [];
      const app = await shaped((app) =>
        app.addHook('preHandler', async (request, { raw }) => {
          counts.push(raw.listenerCount('close') + request.raw.socket.listenerCount('close'));
        }),
      );
      await serve(app, async (at) => {
        await answer(send(at, '/a'));
        const waiting = answer(send(at, '/b'));
        await settled(1);
        clock.advance(500);
        await waiting;
      });
      expect(counts[1]).toBe(counts[0]);
    });

    test('holds a request that is injected as well', async () => {
      const app = await shaped();
      await app.inject('/a');
      const waiting = app.inject('/b');
      await settled(1);
      expect(served).toEqual(['a']);
      clock.advance(500);
      expect((await waiting).statusCode).toBe(200);
    });

    test('answers those that wait before the server closes', async () => {
      const app = await shaped();
      const at = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
      await answer(send(at, '/a'));
      const waiting = answer(send(at, '/b'));
      await settled(1);
      const closed = app.close();
      clock.advance(500);
      expect(await waiting).toMatch(/^HTTP\/1.1 200/);
      await closed;
    });
  });

  describe('closing the server', () => {
    test('closes the stores that the limiters made, and none that they were given', async () => {
      const app = fastify() as unknown as FastifyInstance;
      await app.register(rateLimit, { quota: '5/1h' });
      const own = app.rateLimit({ quota: '6/1h' });
      const given = app.rateLimit({ quota: '7/1h', store });
      app.get('/', { onRequest: [own, given] }, () => 'served');
      await app.inject('/');
      const left = async ({ peek }: LimiterHandle): Promise<number> =>
        (await peek(keys.ip('127.0.0.1'), { cost: 0 })).tightest.remaining;
      expect([await left(app.rateLimit), await left(own), await left(given)]).toEqual([4, 5, 6]);
      await app.close();
      const closed = { code: 'FLOODGATE_STORE_CLOSED' };
      await expect(left(app.rateLimit)).rejects.toMatchObject(closed);
      await expect(left(own)).rejects.toMatchObject(closed);
      expect(await left(given)).toBe(6);
    });

    test('waits for the last request that is limited', async () => {
      const app = fastify() as unknown as FastifyInstance;
      await app.register(rateLimit, { quota: '5/1h' });
      const handler = new EventEmitter();
      app.get('/', async () => {
        handler.emit('began');
        await once(handler, 'end');
        const { tightest } = await app.rateLimit.peek(keys.ip('127.0.0.1'), { cost: 0 });
        return `${tightest.remaining} left`;
      });
      const at = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
      const began = once(handler, 'began');
      const answered = answer(send(at, '/'));
      await began;
      const closed = app.close();
      handler.emit('end');
      expect(await answered).toMatch(/4 left$/);
      await closed;
    });
  });

  describe('the handle', () => {
    test('of the plugin looks, blocks, lifts and resets', async () => {
      const app = fastify() as unknown as FastifyInstance;
      await app.register(rateLimit, { quota: 'fixed-window 2/1m', store });
      app.get('/', () => 'served');
      const me = keys.ip('127.0.0.1');
      expect(await statuses(app, '/', '/', '/')).toEqual([200, 200, 429]);
      expect(await app.rateLimit.peek(me)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
      await app.rateLimit.reset(me);
      expect(await app.rateLimit.peek(me, { cost: 0 })).toMatchObject({
        tightest: { remaining: 2 },
      });
      await app.rateLimit.block(me, '1h');
      expect((await app.inject('/')).headers['retry-after']).toBe('3600');
      await app.rateLimit.unblock(me);
      expect(await statuses(app, '/')).toEqual([200]);
    });

    test('of the plugin reaches the limits of routes', async () => {
      const app = fastify() as unknown as FastifyInstance;
      await app.register(rateLimit, { global: false, store });
      app.get('/', { config: { rateLimit: { quota: 'fixed-window 1/1m' } } }, () => 'served');
      const me = keys.ip('127.0.0.1');
      expect(await statuses(app, '/', '/')).toEqual([200, 429]);
      await app.rateLimit.reset(me);
      expect(await statuses(app, '/', '/')).toEqual([200, 429]);
      await app.rateLimit.block(me, '1h');
      expect((await app.inject('/')).headers['retry-after']).toBe('3600');
    });

    test('of a hook is its own', async () => {
      const app = fastify() as unknown as FastifyInstance;
      await app.register(rateLimit, { quota: 'fixed-window 9/1m', store });
      const search = app.rateLimit({ name: 'search', quota: 'fixed-window 1/1m', store });
      app.get('/search', { preHandler: search }, () => 'found');
      expect(await statuses(app, '/search', '/search')).toEqual([200, 429]);
      await search.reset(keys.ip('127.0.0.1'));
      expect(await statuses(app, '/search', '/search')).toEqual([200, 429]);
    });
  });

  describe('a hook of its own', () => {
    test.each(['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const)(
      'limits a route as its %s, alone or among others',
      async (hook) => {
        const app = fastify() as unknown as FastifyInstance;
        await app.register(rateLimit, { quota: '100/1m' });
        const alone = app.rateLimit({ quota: 'fixed-window 1/1m' });
        const shared = app.rateLimit({ quota: 'fixed-window 3/1m' });
        app.get('/alone', { [hook]: alone }, () => 'served');
        app.get('/a', { [hook]: [shared] }, () => 'served');
        app.get('/b', { [hook]: [shared] }, () => 'served');
        expect(await statuses(app, '/alone', '/alone')).toEqual([200, 429]);
        // The same limiter on both is one count.
        expect(await statuses(app, '/a', '/b', '/a', '/b')).toEqual([200, 200, 200, 429]);
      },
    );

    test('limits all routes of a context, without the plugin', async () => {
      const app = fastify() as unknown as FastifyInstance;
      app.addHook('onRequest', rateLimitHook({ quota: 'fixed-window 2/1m', store }));
      app.get('/', ({ rateLimit }) => rateLimit?.tightest.policy);
      expect((await app.inject('/')).body).toBe('default');
      expect(await statuses(app, '/nope', '/')).toEqual([404, 429]);
    });

    test('throws where it is to', async () => {
      const app = fastify() as unknown as FastifyInstance;
      const onRequest = rateLimitHook({ quota: '0/1m', throwOnLimit: true });
      app.get('/', { onRequest }, () => 'served');
      expect((await app.inject('/')).json()).toMatchObject({ code: 'FLOODGATE_RATE_LIMITED' });
    });

    test.each([undefined, {}, { limit: 5 }, { quota: '5/1m', hook: 'onRequest' }])(
      'is not made of %j',
      async (options) => {
        const app = fastify() as unknown as FastifyInstance;
        await app.register(rateLimit, { quota: '100/1m' });
        const code = expect.stringMatching(/^FLOODGATE_INVALID_/);
        expect(() => app.rateLimit(options as never)).toThrow(expect.objectContaining({ code }));
      },
    );
  });

  test.each<[object | undefined, RegExp]>([
    [undefined, /`limit`/],
    [{}, /`limit`/],
    [{ global: true }, /`limit`/],
    [{ global: 'no', quota: '5/1m' }, /`global`.*true or false.*"no"/],
    [{ hook: 'onSend', quota: '5/1m' }, /`hook`.*'onRequest'.*'preHandler'.*"onSend"/],
    [{ hook: ['onRequest'], quota: '5/1m' }, /`hook`/],
    [{ throwOnLimit: 1, quota: '5/1m' }, /`throwOnLimit`.*1/],
    [{ max: 5 }, /`max`.*`limit`/],
    [{ quota: '5/1m', prefix: '/api' }, /`prefix`/],
  ])('the plugin is not registered with %j', async (options, message) => {
    const app = fastify();
    await expect(async () => app.register(rateLimit, options as never)).rejects.toMatchObject({
      code: expect.stringMatching(/^FLOODGATE_INVALID_/),
      message: expect.stringMatching(message),
    });
  });

  test('a store that fails is answered for by the rule, in a promise too', async () => {
    const failing = new FailingStore(store);
    failing.fail();
    const rules: [RateLimitPluginOptions['onStoreError'], number[]][] = [
      ['local', [200, 429]],
      ['allow', [200, 200]],
      ['deny', [503, 503]],
    ];
    for (const [onStoreError, expected] of rules) {
      const app = fastify() as unknown as FastifyInstance;
      const quota = 'fixed-window 1/1m';
      const options = { name: `${onStoreError}`, quota, store: failing, onEvent: () => {} };
      await app.register(rateLimit, { ...options, onStoreError } as never);
      app.get('/', () => 'served');
      expect(await statuses(app, '/', '/')).toEqual(expected);
    }
  });

  test('a hundred requests at once are a hundred', async () => {
    const app = fastify() as unknown as FastifyInstance;
    const key = () => new Promise<string>((resolve) => setImmediate(resolve, 'everyone'));
    await app.register(rateLimit, { quota: 'fixed-window 10/1h', key });
    app.get('/', () => 'served');
    const all = await Promise.all(Array.from({ length: 100 }, () => app.inject('/')));
    expect(all.filter(({ statusCode }) => statusCode === 200)).toHaveLength(10);
  });

  test('@fastify/rate-limit can be around, or in a context beside', async () => {
    const beside = fastify() as unknown as FastifyInstance;
    await beside.register(async (child) => {
      await child.register(theirRateLimit, { max: 1 });
      child.get('/theirs', { config: { rateLimit: { max: 2 } } as object }, () => 'served');
    });
    await beside.register(async (child) => {
      await child.register(rateLimit, { quota: 'fixed-window 3/1h', store });
      child.get('/ours', { config: { rateLimit: { quota: '1/1h' } } }, () => 'served');
    });
    expect(await statuses(beside, '/theirs', '/theirs', '/theirs')).toEqual([200, 200, 429]);
    expect(await statuses(beside, '/ours', '/ours')).toEqual([200, 429]);

    const around = fastify() as unknown as FastifyInstance;
    await around.register(theirRateLimit, { max: 3 });
    around.get('/theirs', () => 'served');
    await around.register(async (child) => {
      await child.register(rateLimit, { quota: 'fixed-window 3/1h' });
      child.get('/', { config: { rateLimit: { quota: '1/1h' } } }, () => 'served');
    });
    expect(await statuses(around, '/', '/', '/theirs', '/theirs')).toEqual([200, 429, 200, 200]);
  });

  test('HTTP/2 is no other', async () => {
    const app = fastify({ http2: true });
    await app.register(rateLimit, { quota: 'leaky-bucket 2 1/1s', store });
    app.get('/', { preHandler: app.rateLimit({ quota: '100/1m' }) }, () => 'served');
    const session = connectHttp2(await app.listen({ port: 0, host: '127.0.0.1' }));
    const request = async (): Promise<unknown[]> => {
      const stream = session.request({ ':path': '/' });
      const headers = new Promise<Record<string, unknown>>((resolve) =>
        stream.on('response', resolve),
      );
      await text(stream);
      return [(await headers)[':status'], (await headers)['x-ratelimit-remaining']];
    };
    expect(await request()).toEqual([200, '1']);
    const leaving = session.request({ ':path': '/' });
    leaving.on('error', () => {});
    await settled(1);
    expect((await request())[0]).toBe(429);
    leaving.destroy();
    await settled(0);
    session.close();
    await app.close();
  });

  test('on a Unix socket, where there is no address, a request fails and says so', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'floodgate-'));
    const events: FloodgateEvent[] = [];
    const app = fastify() as unknown as FastifyInstance;
    await app.register(rateLimit, { quota: '5/1m', onEvent: (event) => events.push(event) });
    const answered = await serve(app, (at) => answer(send(at, '/')), join(folder, 'socket'));
    await rm(folder, { recursive: true });
    expect(answered).toMatch(/^HTTP\/1.1 500 /);
    expect(answered).toContain('FLOODGATE_NO_KEY');
    expect(events.map(({ message }) => message)).toEqual([expect.stringMatching(/Unix socket/)]);
  });

  describe('a user', () => {
    async function withUsers(
      hook: RateLimitPluginOptions['hook'],
      authentication: 'onRequest' | 'preHandler',
    ): Promise<[FastifyInstance, FloodgateEvent[]]> {
      const events: FloodgateEvent[] = [];
      const app = fastify() as unknown as FastifyInstance;
      app.decorateRequest('user', '');
      const userOf = (request: object) => (request as { user?: string }).user;
      app.addHook(authentication as 'onRequest', async (request) => {
        Object.assign(request, { user: request.headers.authorization });
      });
      await app.register(rateLimit, {
        quota: 'fixed-window 2/1h',
        key: [byUser(userOf), byIp()],
        onEvent: (event) => events.push(event),
        ...(hook && { hook }),
      });
      app.get('/', ({ rateLimit }) => rateLimit?.tightest.key);
      return [app, events];
    }
    const ask = async (app: FastifyInstance, authorization: string): Promise<string> =>
      (await app.inject({ url: '/', headers: { authorization } })).body;

    test('that is looked for before authentication ran is warned of once', async () => {
      const [app, events] = await withUsers(undefined, 'preHandler');
      for (const user of ['ada', 'bob']) expect(await ask(app, user)).toBe('ip:127.0.0.1');
      while (events.length === 0) await new Promise(setImmediate);
      expect(events.map(({ message }) => message)).toEqual([
        expect.stringMatching(/authentication before the limiter/),
      ]);
    });

    test.each([
      [undefined, 'onRequest'],
      ['preHandler', 'preHandler'],
    ] as const)(
      'that is known in time has a count of its own (%s, %s)',
      async (hook, authentication) => {
        const [app, events] = await withUsers(hook, authentication);
        for (const user of ['ada', 'bob']) expect(await ask(app, user)).toBe(`user:${user}`);
        await ask(app, 'ada');
        expect((await app.inject({ url: '/', headers: { authorization: 'ada' } })).statusCode).toBe(
          429,
        );
        await new Promise(setImmediate);
        expect(events).toEqual([]);
      },
    );
  });
});
