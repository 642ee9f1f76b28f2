import { describe, expect, test } from '@jest/globals';
import type { Express, RequestHandler } from 'express';
import supertest from 'supertest';
import {
  byApiKey,
  byHeader,
  byIp,
  byRoute,
  byUser,
  combine,
  keys,
  type RateLimitOptions,
  rateLimit,
} from '../src/index.ts';
import { tellErrors } from './errors.ts';
import { versions } from './versions.ts';

describe.each(versions)('%s', (_, express) => {
  const tellKey: RequestHandler = ({ rateLimit }, response) => {
    response.send(rateLimit?.tightest.key);
  };

  describe('by route', () => {
    function routed(): Express {
      const limiter = rateLimit({ limit: 100, window: '1h', key: byRoute() });
      const app = express();
      const api = express.Router();
      api.get('/users/:id', limiter, tellKey);
      api.all('/any', limiter, tellKey);
      api.route('/thing').get(limiter, tellKey).post(limiter, tellKey);
      app.get('/login', limiter, tellKey);
      app.all('/every', limiter, tellKey);
      app.get(['/a', '/b'], limiter, tellKey);
      app.get(/^\/x+$/, limiter, tellKey);
      app.use('/api', api);
      app.use(limiter);
      app.use(tellErrors());
      return app;
    }

    test.each([
      ['/login', keys.of('route', 'GET /login')],
      ['/login/', keys.of('route', 'GET /login')],
      ['/LOGIN', keys.of('route', 'GET /login')],
      ['/login?x=1', keys.of('route', 'GET /login')],
      ['/api/users/1', keys.of('route', 'GET /api/users/:id')],
      ['/api/users/999', keys.of('route', 'GET /api/users/:id')],
      ['/API/Users/1', keys.of('route', 'GET /api/users/:id')],
      ['/api/users/%31', keys.of('route', 'GET /api/users/:id')],
      ['/api/users/1/?x=1', keys.of('route', 'GET /api/users/:id')],
      ['/a', keys.of('route', 'GET /a,/b')],
      ['/b', keys.of('route', 'GET /a,/b')],
      ['/xxx', keys.of('route', 'GET /^\\/x+$/')],
      ['/api/thing', keys.of('route', 'GET /api/thing')],
      ['/api/any', keys.of('route', 'ALL /api/any')],
      ['/every', keys.of('route', 'ALL /every')],
    ])('%s counts for %s', async (path, key) => {
      expect((await supertest(routed()).get(path).expect(200)).text).toBe(key);
    });

    test('whatever other spelling reaches a handler counts for the same', async () => {
      const app = routed();
      const found = new Set<string>();
      for (const path of ['/api/users/x', '/api//users/x', '//api/users/x', '/api/users//x']) {
        const { status, text } = await supertest(app).get(path);
        if (status === 200) found.add(text);
      }
      expect([...found]).toEqual([keys.of('route', 'GET /api/users/:id')]);
    });

    test('by method, but for HEAD, which is a GET, and for routes that take any', async () => {
      const app = routed();
      const ask = async (method: 'get' | 'head' | 'post' | 'put', path: string): Promise<unknown> =>
        (await supertest(app)[method](path)).headers['x-ratelimit-remaining'];
      expect(await ask('get', '/api/thing')).toBe('99');
      expect(await ask('head', '/api/thing')).toBe('98');
      expect(await ask('post', '/api/thing')).toBe('99');
      expect(await ask('get', '/api/any')).toBe('99');
      expect(await ask('put', '/api/any')).toBe('98');
      expect(await ask('get', '/every')).toBe('99');
      expect(await ask('put', '/every')).toBe('98');
    });

    test('finds nothing where no route is matched', async () => {
      const { status, body } = await supertest(routed()).get('/nowhere');
      expect([status, body.code]).toEqual([500, 'FLOODGATE_NO_KEY']);
    });

    test('a limiter on a router under a prefix runs once', async () => {
      const app = express();
      const router = express.Router();
      router.use(rateLimit({ limit: 2, window: '1h' }));
      router.get('/', tellKey);
      app.use('/v1/things', router);
      const remaining = [];
      for (let i = 0; i < 2; i += 1) {
        const { headers } = await supertest(app).get('/v1/things');
        remaining.push(headers['x-ratelimit-remaining']);
      }
      expect(remaining).toEqual(['1', '0']);
    });
  });

  test.each<[string, RateLimitOptions['key']]>([
    ['byApiKey', byApiKey()],
    ['byHeader', byHeader('X-Api-Key')],
    ['combine', combine(byApiKey(), byHeader('X-Api-Key'))],
  ])('a secret appears in no header, body, hook, event or error (%s)', async (_, key) => {
    const secret = 'sk_live_0123456789';
    const seen: unknown[] = [];
    const app = express();
    app.use(
      rateLimit({
        limit: 1,
        window: '1h',
        ...(key && { key }),
        cost: ({ query }) => Number(query.cost ?? 1),
        onVerdict: ({ decisions, tightest }) => seen.push(decisions, tightest),
        onEvent: (event) => seen.push(event),
      }),
    );
    app.use(tellErrors(seen));
    for (const path of ['/', '/', '/?cost=x']) {
      const { headers, text } = await supertest(app).get(path).set('X-Api-Key', secret);
      seen.push(headers, text);
    }
    const told = JSON.stringify(
      seen.map((one) => (one instanceof Error ? String(one.stack) : one)),
    );
    expect(told).toContain('"allowed":false');
    expect(told).toContain('`cost`');
    expect(told).not.toContain(secret);
  });

  describe('by user', () => {
    type WithUser = { user?: string };

    test('a stranger who names a user spends and sees nothing of that user', async () => {
      const limiter = rateLimit({
        limit: 5,
        window: '1h',
        key: [byUser((request) => (request as WithUser).user), byIp()],
      });
      const app = express();
      app.use((request, _, next) => {
        // Only a valid token makes a user.
        if (request.headers.authorization === 'valid') (request as WithUser).user = 'ann';
        next();
      });
      app.use(limiter);
      app.get('/', tellKey);
      const { headers } = await supertest(app).get('/?user=ann').set('X-User', 'ann');
      expect(headers['x-ratelimit-remaining']).toBe('4');
      expect(await limiter.peek(keys.user('ann'), { cost: 0 })).toMatchObject({
        tightest: { remaining: 5 },
      });
      const known = await supertest(app).get('/').set('Authorization', 'valid');
      expect([known.text, known.headers['x-ratelimit-remaining']]).toEqual(['user:ann', '4']);
    });

    test('a limiter before authentication says so, once', async () => {
      const messages: string[] = [];
      const app = express();
      app.use(
        rateLimit({
          limit: 9,
          window: '1h',
          key: [byUser((request) => (request as WithUser).user), byIp()],
          onEvent: ({ message }) => messages.push(message),
        }),
      );
      app.use((request, response) => {
        (request as WithUser).user = 'ann';
        response.end();
      });
      for (let i = 0; i < 3; i += 1) await supertest(app).get('/').expect(200);
      expect(messages).toEqual([expect.stringMatching(/authentication before the limiter/)]);
    });

    test('without a key a request fails through the framework', async () => {
      const errors: unknown[] = [];
      const app = express();
      app.use(
        rateLimit({ limit: 9, window: '1h', key: byUser(() => undefined), name: 'per-user' }),
      );
      app.use(tellErrors(errors));
      await supertest(app).get('/').expect(500);
      expect(errors).toEqual([
        expect.objectContaining({
          code: 'FLOODGATE_NO_KEY',
          message: expect.stringMatching(/`per-user`.*`byIp\(\)`.*`when`/),
        }),
      ]);
    });
  });
});
