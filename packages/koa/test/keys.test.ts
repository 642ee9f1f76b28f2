import { describe, expect, test } from '@jest/globals';
import Router from '@koa/router';
import type Koa from 'koa';
import type { Context } from 'koa';
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
import { quietApp } from './app.ts';
import { answer, send, serve } from './server.ts';
import { versions } from './versions.ts';

describe.each(versions)('%s', (_, make) => {
  const tellKey = (ctx: Context): void => {
    ctx.body = ctx.state.rateLimit?.tightest.key;
  };

  const perRoute = (): ReturnType<typeof rateLimit> =>
    rateLimit({ limit: 100, window: '1h', key: byRoute() });

  function routed(): Koa {
    const limiter = perRoute();
    const users = new Router({ prefix: '/users' });
    users.get('/', limiter, tellKey);
    users.get('/:id', limiter, tellKey);
    const things = new Router();
    things.use(limiter);
    things.get('/:name', tellKey);
    things.put('/:name', tellKey);
    const api = new Router({ prefix: '/api' });
    api.use(users.routes());
    api.use('/:version/things', things.routes());
    api.get('/thing', limiter, tellKey);
    api.post('/thing', limiter, tellKey);
    const router = new Router();
    router.get('/login', limiter, tellKey);
    router.get(['/a', '/b'], limiter, tellKey);
    router.get(/^\/x+$/, limiter, tellKey);
    router.all('/any', limiter, tellKey);
    router.register('/some', ['GET', 'POST'], [limiter, tellKey]);
    router.get('one', '/named/:id', limiter, tellKey);
    router.get('/files/*path', limiter, tellKey);
    router.get('/get-or-any', limiter, tellKey);
    router.all('/get-or-any', limiter, tellKey);
    router.all('/passes/on', (_, next) => next());
    router.get('/passes/:where', limiter, tellKey);
    const app = quietApp(make);
    app.use(api.routes()).use(router.routes());
    app.use(limiter);
    return app;
  }

  describe('by route', () => {
    test.each([
      ['/login', 'GET /login'],
      ['/login/', 'GET /login'],
      ['/LOGIN', 'GET /login'],
      ['/login?x=1', 'GET /login'],
      ['/api/users', 'GET /api/users'],
      ['/api/users/1', 'GET /api/users/:id'],
      ['/api/users/999', 'GET /api/users/:id'],
      ['/API/Users/1', 'GET /api/users/:id'],
      ['/api/users/%31', 'GET /api/users/:id'],
      ['/api/users/1/?x=1', 'GET /api/users/:id'],
      ['/api/v1/things/a', 'GET /api/:version/things/:name'],
      ['/api/v2/things/b', 'GET /api/:version/things/:name'],
      ['/a', 'GET /a'],
      ['/b', 'GET /b'],
      ['/xxx', 'GET /^\\/x+$/'],
      ['/api/thing', 'GET /api/thing'],
      ['/any', 'ALL /any'],
      ['/some', 'ALL /some'],
      ['/get-or-any', 'ALL /get-or-any'],
      ['/named/1', 'GET /named/:id'],
      ['/files/a/b', 'GET /files/*path'],
      // Two routes match, and the second is the one with a limit.
      ['/passes/on', 'GET /passes/:where'],
      ['/passes/by', 'GET /passes/:where'],
    ])('%s counts for %s', async (path, route) => {
      const { text } = await supertest(routed().callback()).get(path).expect(200);
      expect(text).toBe(keys.of('route', route));
    });

    test('whatever other spelling reaches a handler counts for the same', async () => {
      const spellings: [path: string, route: string][] = [
        ...['/login/', '//login', '/login//', '/LOGIN', '/%6cogin', '/./login', '/login;a'].map(
          (path): [string, string] => [path, 'GET /login'],
        ),
        ...[
          '/api//users/x',
          '//api/users/x',
          '/api/users//x',
          '/api/users/x/',
          '/x/../api/users/x',
        ].map((path): [string, string] => [path, 'GET /api/users/:id']),
      ];
      await serve(routed(), async (at) => {
        for (const [path, route] of spellings) {
          // As it is written here: other clients would put it right.
          const text = await answer(send(at, path));
          if (text.startsWith('HTTP/1.1 200')) {
            expect([path, text]).toEqual([path, expect.stringContaining(keys.of('route', route))]);
          }
        }
      });
    });

    test('by method, but for HEAD, which is a GET, and for routes that take several', async () => {
      const agent = supertest(routed().callback());
      const ask = async (
        method: 'get' | 'head' | 'post' | 'put' | 'delete',
        path: string,
      ): Promise<unknown> => (await agent[method](path)).headers['x-ratelimit-remaining'];
      expect(await ask('get', '/api/thing')).toBe('99');
      expect(await ask('head', '/api/thing')).toBe('98');
      expect(await ask('post', '/api/thing')).toBe('99');
      expect(await ask('get', '/any')).toBe('99');
      expect(await ask('put', '/any')).toBe('98');
      expect(await ask('delete', '/any')).toBe('97');
      expect(await ask('post', '/some')).toBe('99');
      expect(await ask('head', '/some')).toBe('98');
      // The route for one method stands before that for all of them.
      expect(await ask('get', '/get-or-any')).toBe('99');
      expect(await ask('put', '/get-or-any')).toBe('98');
      // Its limit is the router's.
      expect(await ask('put', '/api/v1/things/a')).toBe('99');
      expect(await ask('get', '/api/v1/things/a')).toBe('99');
    });

    test.each(['/nowhere', '/api/nowhere'])(
      'finds nothing where no route is matched: %s',
      async (path) => {
        const errors: unknown[] = [];
        const app = routed();
        app.on('error', (error) => errors.push(error));
        await supertest(app.callback()).get(path).expect(500);
        expect(errors).toEqual([expect.objectContaining({ code: 'FLOODGATE_NO_KEY' })]);
      },
    );

    test('finds nothing for a method that the route does not take', async () => {
      const errors: unknown[] = [];
      const app = routed();
      app.on('error', (error) => errors.push(error));
      await supertest(app.callback()).delete('/login').expect(500);
      expect(errors).toEqual([expect.objectContaining({ code: 'FLOODGATE_NO_KEY' })]);
    });

    test('what a router runs itself sees not every spelling of its prefix, if it is not sensitive', async () => {
      const ask = async (sensitive: boolean, path: string): Promise<string> => {
        const router = new Router({ prefix: '/users', sensitive });
        router.use(perRoute());
        router.get('/:id', (ctx) => {
          ctx.body = ctx.state.rateLimit?.tightest.key ?? 'not limited';
        });
        const app = quietApp(make);
        app.use(router.routes());
        return (await supertest(app.callback()).get(path)).text;
      };
      expect(await ask(false, '/users/1')).toBe(keys.of('route', 'GET /users/:id'));
      // So it is in @koa/router, and so the README says.
      expect(await ask(false, '/USERS/1')).toBe('not limited');
      expect(await ask(true, '/users/1')).toBe(keys.of('route', 'GET /users/:id'));
      expect(await ask(true, '/USERS/1')).toBe('Not Found');
    });

    test('a limiter on a router under a prefix runs once', async () => {
      const things = new Router();
      things.use(rateLimit({ limit: 2, window: '1h' }));
      things.get('/', tellKey);
      const router = new Router({ prefix: '/v1' });
      router.use('/things', things.routes());
      const app = quietApp(make);
      app.use(router.routes());
      const remaining = [];
      for (let i = 0; i < 2; i += 1) {
        const { headers } = await supertest(app.callback()).get('/v1/things');
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
    const app = quietApp(make, seen);
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
    const agent = supertest(app.callback());
    for (const path of ['/', '/', '/?cost=x']) {
      const { headers, text } = await agent.get(path).set('X-Api-Key', secret);
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
    test('a stranger who names a user spends and sees nothing of that user', async () => {
      const limiter = rateLimit({
        limit: 5,
        window: '1h',
        key: [byUser((ctx) => ctx.state.user), byIp()],
      });
      const app = quietApp(make);
      app.use((ctx, next) => {
        // Only a valid token makes a user.
        if (ctx.get('Authorization') === 'valid') ctx.state.user = 'ann';
        return next();
      });
      app.use(limiter);
      app.use(tellKey);
      const agent = supertest(app.callback());
      const { headers } = await agent.get('/?user=ann').set('X-User', 'ann');
      expect(headers['x-ratelimit-remaining']).toBe('4');
      expect(await limiter.peek(keys.user('ann'), { cost: 0 })).toMatchObject({
        tightest: { remaining: 5 },
      });
      const known = await agent.get('/').set('Authorization', 'valid');
      expect([known.text, known.headers['x-ratelimit-remaining']]).toEqual(['user:ann', '4']);
    });

    test('a limiter before authentication says so, once', async () => {
      const messages: string[] = [];
      const app = quietApp(make);
      app.use(
        rateLimit({
          limit: 9,
          window: '1h',
          key: [byUser((ctx) => ctx.state.user), byIp()],
          onEvent: ({ message }) => messages.push(message),
        }),
      );
      app.use((ctx) => {
        ctx.state.user = 'ann';
        ctx.body = 'fine';
      });
      const agent = supertest(app.callback());
      for (let i = 0; i < 3; i += 1) await agent.get('/').expect(200);
      expect(messages).toEqual([expect.stringMatching(/authentication before the limiter/)]);
    });

    test('without a key a request fails through the framework', async () => {
      const errors: unknown[] = [];
      const app = quietApp(make, errors);
      app.use(
        rateLimit({ limit: 9, window: '1h', key: byUser(() => undefined), name: 'per-user' }),
      );
      await supertest(app.callback()).get('/').expect(500);
      expect(errors).toEqual([
        expect.objectContaining({
          code: 'FLOODGATE_NO_KEY',
          message: expect.stringMatching(/`per-user`.*`byIp\(\)`.*`when`/),
        }),
      ]);
    });
  });
});
