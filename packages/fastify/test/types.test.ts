import { describe, test } from '@jest/globals';
import { expectTypeOf } from 'expect-type';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fastify from 'fastify';
import {
  byIp,
  byUser,
  type LimiterHandle,
  type RateLimitHook,
  type RateLimitPluginOptions,
  rateLimit,
  rateLimitHook,
  type Verdict,
} from '../src/index.ts';

const app = fastify();

// What is checked here is checked by the compiler: the functions are never called.
describe('the types', () => {
  test('of the plugin’s options take what is right', () => {
    const options: RateLimitPluginOptions[] = [
      { limit: 5, window: '1m' },
      { limit: 5, window: '1m', hook: 'preHandler', global: true, throwOnLimit: true },
      { limit: async (request) => Number(request.headers.limit), window: '1m', global: false },
      { quota: '5/1m', key: [byUser((request: FastifyRequest) => request.id), byIp()] },
      { policies: [{ name: 'a', quota: '5/1m', when: (request) => request.is404 }] },
      { quota: '5/1m', handler: (request, reply) => reply.send(request.rateLimit?.retryAfterMs) },
      { quota: '5/1m', handler: async () => ({ slow: 'down' }), headers: ['legacy', 'draft-8'] },
      { global: false },
      { global: false, key: byIp(), onVerdict: (verdict, request) => void [verdict, request.ip] },
    ];
    expectTypeOf(options).toBeArray();
  });

  test('of the plugin’s options refuse what is wrong', () => {
    const wrong = (): void => {
      // @ts-expect-error nothing is no limit
      app.register(rateLimit, {});
      // @ts-expect-error unless only routes are limited
      app.register(rateLimit, { global: true });
      // @ts-expect-error a limit needs a window
      app.register(rateLimit, { limit: 5 });
      // @ts-expect-error no hook of a request's beginning
      app.register(rateLimit, { quota: '5/1m', hook: 'onSend' });
      // @ts-expect-error an option of another library
      app.register(rateLimit, { max: 5, timeWindow: 1000 });
      // @ts-expect-error one way to say it
      app.register(rateLimit, { quota: '5/1m', limit: 5, window: '1m' });
    };
    expectTypeOf(wrong).toBeFunction();
  });

  test('of a route’s config', () => {
    const routes = (): void => {
      app.get('/', { config: { rateLimit: { limit: 5, window: '1m' } } }, () => 1);
      app.get('/', { config: { rateLimit: { quota: '5/1m', replace: true } } }, () => 1);
      app.get('/', { config: { rateLimit: false } }, () => 1);
      const limit = (request: FastifyRequest): number => request.url.length;
      app.get('/', { config: { rateLimit: { limit, window: 1000, message: () => '' } } }, () => 1);
      app.get<{ Params: { id: string } }>(
        '/:id',
        { config: { rateLimit: { quota: (request) => (request.is404 ? '1/1m' : '2/1m') } } },
        ({ params }) => params.id,
      );
      const config = { rateLimit: { limit: 5, window: '1m' } };
      app.route({ method: ['GET', 'POST'], url: '/', config, handler: () => 1 });

      // @ts-expect-error not a number
      app.get('/', { config: { rateLimit: { limit: '5', window: '1m' } } }, () => 1);
      // @ts-expect-error a limit needs a window
      app.get('/', { config: { rateLimit: { limit: 5 } } }, () => 1);
      // @ts-expect-error what the plugin says for all
      app.get('/', { config: { rateLimit: { quota: '5/1m', replace: 'yes' } } }, () => 1);
      // @ts-expect-error there is nothing to switch on
      app.get('/', { config: { rateLimit: true } }, () => 1);
      const wrong = { rateLimit: { quota: '5/1m', mode: 'on' } } as const;
      // @ts-expect-error not a mode
      app.route({ method: 'GET', url: '/', config: wrong, handler: () => 1 });
    };
    expectTypeOf(routes).toBeFunction();
  });

  test('of a request say that it may have a verdict', () => {
    expectTypeOf<FastifyRequest['rateLimit']>().toEqualTypeOf<Verdict | undefined>();
  });

  test('of hooks fit wherever a request can be limited', () => {
    expectTypeOf<RateLimitHook>().toExtend<LimiterHandle>();
    expectTypeOf(rateLimitHook).returns.toEqualTypeOf<RateLimitHook>();
    const use = (hook: RateLimitHook): void => {
      for (const name of ['onRequest', 'preValidation', 'preHandler'] as const) {
        app.addHook(name as 'onRequest', hook);
      }
      app.addHook('preParsing', hook);
      app.get('/', { onRequest: hook, preParsing: [hook], preHandler: [hook, hook] }, () => 1);
      app.get<{ Body: { a: 1 }; Reply: { b: 2 } }>('/', { preValidation: hook }, () => ({ b: 2 }));
      app.setNotFoundHandler({ preHandler: hook, preValidation: [hook] }, () => 1);
      const http2 = fastify({ http2: true });
      http2.register(rateLimit, { quota: '5/1m' });
      http2.addHook('onRequest', hook);
      http2.get('/', { onRequest: http2.rateLimit({ quota: '5/1m' }) }, () => 1);
    };
    expectTypeOf(use).toBeFunction();
  });

  test('of an instance have the handle, and make hooks', () => {
    expectTypeOf<FastifyInstance['rateLimit']>().toExtend<LimiterHandle>();
    const use = async (): Promise<void> => {
      await app.rateLimit.block('ip:192.0.2.1', '1h');
      expectTypeOf(await app.rateLimit.peek('ip:192.0.2.1')).toEqualTypeOf<Verdict>();
      const hook = app.rateLimit({
        quota: '5/1m',
        cost: (request) => {
          expectTypeOf(request).toEqualTypeOf<FastifyRequest>();
          return 1;
        },
        handler: (request, reply) => {
          expectTypeOf(request).toEqualTypeOf<FastifyRequest>();
          expectTypeOf(reply).toEqualTypeOf<FastifyReply>();
        },
      });
      hook.close();
      // @ts-expect-error a hook needs a limit
      app.rateLimit();
      // @ts-expect-error what the plugin says for all
      app.rateLimit({ quota: '5/1m', hook: 'onRequest' });
    };
    expectTypeOf(use).toBeFunction();
  });
});
