import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  byRoute,
  keys,
  MemoryStore,
  type RateLimitPluginOptions,
  rateLimit,
  type Verdict,
} from '../src/index.ts';
import { statuses } from './requests.ts';
import { versions } from './versions.ts';

const anyone = () => 'anyone';
const hour = (limit: number) => ({ quota: `fixed-window ${limit}/1h`, key: anyone });

describe.each(versions)('%s', (_, fastify) => {
  let met: string[][];

  /** Which policies a request met, and what is left of each. */
  function note({ decisions }: Verdict): void {
    met.push(decisions.map(({ policy, remaining }) => `${policy} ${remaining}`));
  }

  beforeEach(() => {
    met = [];
  });

  async function limited(options: Partial<RateLimitPluginOptions> = {}): Promise<FastifyInstance> {
    const app = fastify();
    await app.register(rateLimit, { ...hour(10), onVerdict: note, ...options } as never);
    return app as unknown as FastifyInstance;
  }

  describe("a route's config.rateLimit", () => {
    test('adds its limit to the plugin’s, in one step', async () => {
      const app = await limited(hour(3));
      app.get('/search', { config: { rateLimit: hour(2) } }, () => 'found');
      app.get('/', () => 'served');
      expect(await statuses(app, '/search', '/search', '/search', '/', '/')).toEqual([
        200, 200, 429, 200, 429,
      ]);
      expect(met).toEqual([
        ['default 2', 'GET /search 1'],
        ['default 1', 'GET /search 0'],
        // Denied by one, it is charged by neither.
        ['default 1', 'GET /search 0'],
        ['default 0'],
        ['default 0'],
      ]);
    });

    test('is no way round the plugin’s, whatever key it goes by', async () => {
      const app = await limited(hour(5));
      const byClient = { limit: 2, window: '1h', key: ({ query }: FastifyRequest) => `${query}` };
      app.get('/ws', { config: { rateLimit: byClient } }, () => 'served');
      const all = Array.from({ length: 6 }, (_, i) => `/ws?client=${i}`);
      const key = ({ url }: FastifyRequest) => url;
      app.get('/other', { config: { rateLimit: { ...byClient, key } } }, () => 'served');
      const others = all.map((url) => url.replace('ws', 'other'));
      expect(await statuses(app, ...others)).toEqual([200, 200, 200, 200, 200, 429]);
    });

    test('replaces the plugin’s, and says so', async () => {
      const app = await limited(hour(1));
      const config = { rateLimit: { ...hour(3), replace: true } };
      app.get('/upload', { config }, () => 'served');
      expect(await statuses(app, '/upload', '/upload', '/upload', '/upload')).toEqual([
        200, 200, 200, 429,
      ]);
      expect(met[0]).toEqual(['GET /upload 2']);
      expect(await statuses(app, '/upload', '/nope')).toEqual([429, 404]);
    });

    test('lifts all limits, and leaves no trace, where it is false', async () => {
      const store = new MemoryStore();
      const app = await limited({ ...hour(1), store });
      app.get('/health', { config: { rateLimit: false } }, ({ rateLimit }) => String(rateLimit));
      for (let i = 0; i < 3; i += 1) {
        const { statusCode, headers, body } = await app.inject('/health');
        expect([statusCode, body]).toEqual([200, 'undefined']);
        expect(headers).not.toHaveProperty('x-ratelimit-limit');
      }
      expect(store.size).toBe(0);
      expect(met).toEqual([]);
    });

    test('can have several policies, each with a name', async () => {
      const app = await limited();
      const policies = [
        { name: 'minute', quota: 'fixed-window 5/1m' },
        { name: 'hour', quota: 'fixed-window 20/1h' },
      ];
      app.get('/', { config: { rateLimit: { policies } } }, () => 'served');
      await app.inject('/');
      expect(met).toEqual([['default 9', 'minute 4', 'hour 19']]);
    });

    test('can answer differently from the plugin', async () => {
      const app = await limited({ statusCode: 420, message: () => 'Calm down.' });
      app.get('/a', { config: { rateLimit: { ...hour(0), statusCode: 430 } } }, () => 'served');
      app.get(
        '/b',
        { config: { rateLimit: { ...hour(0), message: () => 'No.' } } },
        () => 'served',
      );
      const handler = () => ({ by: 'the route' });
      app.get('/c', { config: { rateLimit: { ...hour(0), handler } } }, () => 'served');
      app.get('/d', { config: { rateLimit: { ...hour(0), headers: false } } }, () => 'served');
      const answers = [];
      for (const url of ['/a', '/b', '/c', '/d']) {
        const { statusCode, headers, body } = await app.inject(url);
        const { error, by } = JSON.parse(body);
        answers.push([statusCode, error?.message ?? by, headers['x-ratelimit-limit']]);
      }
      expect(answers).toEqual([
        [430, 'Calm down.', '0'],
        [420, 'No.', '0'],
        [420, 'the route', '0'],
        [420, 'Calm down.', undefined],
      ]);
    });

    test('reaches a not-found handler too', async () => {
      const app = await limited();
      const options = { config: { rateLimit: hour(1) } };
      app.setNotFoundHandler(options as object, (_, reply) => reply.code(404).send('nothing'));
      expect(await statuses(app, '/a', '/b')).toEqual([404, 429]);
      expect(met[0]).toEqual(['default 9', '404 0']);
    });
  });

  describe('the default name', () => {
    test.each<[string, (app: FastifyInstance) => unknown, string, string]>([
      ['of GET', (app) => app.get('/a/:id', own(), served), '/a/1', 'GET /a/:id'],
      ['of HEAD', (app) => app.get('/a', own(), served), 'HEAD /a', 'GET /a'],
      ['of POST', (app) => app.post('/a', own(), served), 'POST /a', 'POST /a'],
      [
        'of one method in a list',
        (app) => app.route({ method: ['PUT'], url: '/a', ...own(), handler: served }),
        'PUT /a',
        'PUT /a',
      ],
      [
        'of GET and HEAD',
        (app) => app.route({ method: ['GET', 'HEAD'], url: '/a', ...own(), handler: served }),
        'HEAD /a',
        'GET /a',
      ],
      [
        'of several methods',
        (app) => app.route({ method: ['GET', 'POST'], url: '/a', ...own(), handler: served }),
        'POST /a',
        'ALL /a',
      ],
      ['of all methods', (app) => app.all('/a', own(), served), 'DELETE /a', 'ALL /a'],
      ['of a wildcard', (app) => app.get('/*', own(), served), '/x/y', 'GET /*'],
      ['of the root', (app) => app.get('/', own(), served), '/', 'GET /'],
      ['of a slash at the end', (app) => app.get('/a/', own(), served), '/a/', 'GET /a'],
      [
        'of a route under a prefix',
        (app) =>
          app.register(async (inner) => inner.get('/a', own(), served), { prefix: '/inner' }),
        '/inner/a',
        'GET /inner/a',
      ],
    ])('%s is of method and pattern', async (_, set, request, name) => {
      const app = await limited();
      await set(app);
      expect(await statuses(app, request)).toEqual([200]);
      expect(met).toEqual([['default 9', `${name} 4`]]);
      // And byRoute is of one mind with it, also for a route that was there before.
      const another = fastify() as unknown as FastifyInstance;
      await set(another);
      const found: string[] = [];
      await another.register(rateLimit, {
        limit: 10,
        window: '1h',
        key: byRoute(),
        onVerdict: ({ decisions }) => found.push(decisions[0]?.key ?? ''),
      });
      await statuses(another, request);
      expect(found).toEqual([keys.of('route', name)]);
    });

    const served = () => 'served';
    const own = () => ({ config: { rateLimit: hour(5) } });
  });

  describe('one count', () => {
    test.each<[string, (app: FastifyInstance, options: object) => unknown, string[]]>([
      [
        'of GET and the HEAD that Fastify adds',
        (app, options) => app.get('/a', options, served),
        ['/a', 'HEAD /a'],
      ],
      [
        'of several methods and the HEAD that Fastify adds',
        (app, options) =>
          app.route({ method: ['GET', 'POST'], url: '/a', ...options, handler: served }),
        ['/a', 'HEAD /a', 'POST /a'],
      ],
      [
        'of both spellings of a root under a prefix',
        (app, options) =>
          app.register(async (inner) => inner.get('/', options, served), { prefix: '/inner' }),
        ['/inner', '/inner/', 'HEAD /inner', 'HEAD /inner/'],
      ],
      [
        'of what a route with a parameter is given',
        (app, options) => app.get('/users/:id', options, served),
        ['/users/1', '/users/2', '/users/%33', '/users/4?x=1'],
      ],
    ])('%s', async (_, set, requests) => {
      for (const isEarly of [true, false]) {
        met = [];
        const app = fastify() as unknown as FastifyInstance;
        const options = { config: { rateLimit: hour(100) } };
        if (isEarly) await set(app, options);
        await app.register(rateLimit, { ...hour(100), onVerdict: note });
        if (!isEarly) await set(app, options);
        await statuses(app, ...requests);
        expect(met.map(([, own]) => own?.split(' ').at(-1))).toEqual(
          requests.map((_, i) => String(99 - i)),
        );
      }
    });

    const served = () => 'served';

    test('of its own for each route that one object of options is given to', async () => {
      const app = await limited();
      const strict = { config: { rateLimit: hour(1) } };
      app.get('/a', strict, served);
      app.get('/b', strict, served);
      app.post('/b', strict, served);
      const all = ['/a', '/b', 'POST /b'];
      expect(await statuses(app, ...all, ...all)).toEqual([200, 200, 200, 429, 429, 429]);
    });
  });

  describe('without global', () => {
    test('only routes that ask for it are limited', async () => {
      const app = await limited({ global: false, quota: undefined } as never);
      app.get('/free', () => 'served');
      app.get('/limited', { config: { rateLimit: hour(1) } }, () => 'served');
      expect(await statuses(app, '/free', '/free', '/limited', '/limited', '/nope')).toEqual([
        200, 200, 200, 429, 404,
      ]);
      expect(met).toEqual([['GET /limited 0'], ['GET /limited 0']]);
    });

    test('the plugin’s own limit counts where a route asks for one', async () => {
      const app = await limited({ ...hour(2), global: false });
      app.get('/free', () => 'served');
      app.get('/limited', { config: { rateLimit: hour(5) } }, () => 'served');
      const limited_ = '/limited';
      expect(await statuses(app, '/free', limited_, limited_, limited_)).toEqual([
        200, 200, 200, 429,
      ]);
      expect(met[0]).toEqual(['default 1', 'GET /limited 4']);
    });

    test('a false stays a false', async () => {
      const app = await limited({ global: false });
      app.get('/', { config: { rateLimit: false } }, () => 'served');
      await app.inject('/');
      expect(met).toEqual([]);
    });
  });

  describe('registered again within', () => {
    /** A plugin in a plugin, and routes of each kind in the inner one. */
    async function nested(inner: Partial<RateLimitPluginOptions> = {}): Promise<FastifyInstance> {
      const app = await limited({ name: 'outer' });
      await app.register(async (child) => {
        child.get('/early', { config: { rateLimit: hour(5) } }, () => 'served');
        await child.register(rateLimit, {
          ...hour(7),
          name: 'inner',
          onVerdict: note,
          ...inner,
        } as never);
        child.get('/plain', () => 'served');
        child.get('/own', { config: { rateLimit: hour(5) } }, () => 'served');
        const replace = { ...hour(5), replace: true };
        child.get('/replaced', { config: { rateLimit: replace } }, () => 'served');
        child.get('/free', { config: { rateLimit: false } }, () => 'served');
      });
      app.get('/outside', { config: { rateLimit: hour(5) } }, () => 'served');
      return app;
    }

    test.each<[string, string[][]]>([
      ['/plain', [['outer 9'], ['inner 6']]],
      ['/own', [['outer 9'], ['inner 6', 'GET /own 4']]],
      ['/replaced', [['GET /replaced 4']]],
      ['/free', []],
      ['/outside', [['outer 9', 'GET /outside 4']]],
      // Its limits were read before the inner plugin was there.
      ['/early', [['outer 9', 'GET /early 4'], ['inner 6']]],
    ])('both count, and the limits of %s once', async (path, expected) => {
      const app = await nested();
      expect(await statuses(app, path)).toEqual([200]);
      expect(met).toEqual(expected);
    });

    test('the inner one is not asked about what the outer one denies', async () => {
      const app = await limited({ ...hour(2), name: 'outer' });
      await app.register(async (child) => {
        await child.register(rateLimit, { ...hour(7), name: 'inner', onVerdict: note });
        child.get('/', () => 'served');
      });
      expect(await statuses(app, '/', '/', '/')).toEqual([200, 200, 429]);
      expect(met).toEqual([['outer 1'], ['inner 6'], ['outer 0'], ['inner 5'], ['outer 0']]);
    });

    test('the verdict that a handler sees is that of the inner one', async () => {
      const app = await nested();
      await app.register(async (child) => {
        await child.register(rateLimit, { ...hour(2), name: 'third' });
        child.get('/verdict', ({ rateLimit }) => rateLimit?.tightest.policy);
      });
      expect((await app.inject('/verdict')).body).toBe('third');
    });

    test('the handle is that of the context', async () => {
      const app = await limited({ name: 'outer' });
      let inner: unknown;
      await app.register(async (child) => {
        await child.register(rateLimit, { ...hour(7), name: 'inner' });
        inner = child.rateLimit;
      });
      expect(inner).not.toBe(app.rateLimit);
      const policies = async (handle: FastifyInstance['rateLimit']) =>
        (await handle.peek('custom:anyone')).decisions.map(({ policy }) => policy);
      expect(await policies(app.rateLimit)).toEqual(['outer']);
      expect(await policies(inner as FastifyInstance['rateLimit'])).toEqual(['inner']);
    });

    test('in one context, both count and the later one is at hand', async () => {
      const app = await limited({ name: 'first' });
      await app.register(rateLimit, {
        ...hour(7),
        name: 'second',
        hook: 'preHandler',
        onVerdict: note,
      });
      app.get('/', { config: { rateLimit: hour(5) } }, () => 'served');
      await app.inject('/');
      expect(met).toEqual([['first 9'], ['second 6', 'GET / 4']]);
      const { decisions } = await app.rateLimit.peek('custom:anyone');
      expect(decisions.map(({ policy }) => policy)).toEqual(['second', 'GET /']);
    });
  });

  describe('an option that is wrong', () => {
    const wrong: [string, object | true, RegExp][] = [
      ['a limit below 0', { limit: -1, window: '1h' }, /`limit`.*-1/],
      ['no window', { limit: 5 }, /window/],
      ['an unknown option', { ...hour(5), foo: 1 }, /`foo`/],
      ['an option of another library', { max: 5 }, /`max`.*`limit`/],
      ['true', true, /`config.rateLimit`.*false.*true/],
      ['null', null as never, /`config.rateLimit`.*null/],
      ['a text', '5/1m' as never, /`config.rateLimit`.*5\/1m/],
      ['replace that is no yes or no', { ...hour(5), replace: 'yes' }, /`replace`.*"yes"/],
      ['hook', { ...hour(5), hook: 'onRequest' }, /`hook`.*plugin/],
      ['global', { ...hour(5), global: true }, /`global`.*plugin/],
      ['throwOnLimit', { ...hour(5), throwOnLimit: true }, /`throwOnLimit`.*plugin/],
      ['replace without a limit', { replace: true }, /`limit`/],
    ];

    test.each(wrong)(
      '(%s) is an error while the route is registered',
      async (_, rateLimit, text) => {
        const app = await limited();
        const register = () => app.get('/', { config: { rateLimit } as never }, () => 'served');
        expect(register).toThrow(expect.objectContaining({ message: expect.stringMatching(text) }));
        expect(register).toThrow(
          expect.objectContaining({ code: expect.stringMatching(/^FLOODGATE_INVALID_/) }),
        );
      },
    );

    test.each(wrong)(
      '(%s) never lifts the limit of a route from before',
      async (_, options, text) => {
        const app = fastify();
        app.get('/', { config: { rateLimit: options } as never }, () => 'served');
        await app.register(rateLimit, hour(10));
        const { statusCode, body } = await app.inject('/');
        expect(statusCode).toBe(500);
        expect(JSON.parse(body).message).toMatch(text);
      },
    );
  });
});
