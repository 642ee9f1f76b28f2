import { describe, test } from '@jest/globals';
import { expectTypeOf } from 'expect-type';
import type { Request } from 'express';
import type { Application as Application4 } from 'express4';
import {
  byIp,
  byUser,
  combine,
  fromAddresses,
  HttpLimiter,
  type LimiterHandle,
  type Mode,
  type RateLimitMiddleware,
  type RateLimitOptions,
  rateLimit,
  type Verdict,
} from '../src/index.ts';
import { versions } from './versions.ts';

// What is checked here is checked by the compiler: the functions are never called.
describe('the types', () => {
  test('of options take what is right', () => {
    expectTypeOf(rateLimit).parameter(0).toEqualTypeOf<RateLimitOptions>();
    const options: RateLimitOptions[] = [
      { limit: 5, window: '1m' },
      { limit: 5, window: 60_000, name: 'x', key: byIp({ ipv6Prefix: 64 }) },
      { limit: (request) => Number(request.query.limit), window: '1m' },
      {
        limit: async () => 5,
        window: '1m',
        mode: async ({ secure }) => (secure ? 'off' : 'shadow'),
      },
      { quota: '5/1m', skip: fromAddresses(['10.0.0.0/8']) },
      { quota: (request) => (request.secure ? '5/1m' : { limit: 1, window: '1m' }) },
      { policies: [{ name: 'a', quota: '5/1m', when: (request) => request.secure }] },
      { quota: '5/1m', key: (request) => request.hostname },
      { quota: '5/1m', key: async () => undefined },
      { quota: '5/1m', key: [byUser((request: Request) => request.hostname), byIp()] },
      { quota: '5/1m', key: combine(byIp(), (request: Request) => request.hostname) },
      { quota: '5/1m', headers: false, handler: (_, response) => response.sendStatus(420) },
      { quota: '5/1m', onVerdict: (verdict, request) => void [verdict.allowed, request.path] },
    ];
    expectTypeOf(options).toBeArray();
  });

  test('of functions in options are those of Express', () => {
    rateLimit({
      quota: '5/1m',
      key: [
        byUser((request) => {
          expectTypeOf(request).toEqualTypeOf<Request>();
          return request.hostname;
        }),
        byIp(),
      ],
      cost: (request) => {
        expectTypeOf(request).toEqualTypeOf<Request>();
        return 1;
      },
      skip: (request) => {
        expectTypeOf(request).toEqualTypeOf<Request>();
        return false;
      },
      message: (verdict, request) => {
        expectTypeOf(verdict).toEqualTypeOf<Verdict>();
        expectTypeOf(request).toEqualTypeOf<Request>();
        return 'No.';
      },
      handler: (request, response, next) => {
        expectTypeOf(request).toEqualTypeOf<Request>();
        response.json({});
        next();
      },
    });
  });

  test('of options refuse what is wrong', () => {
    const wrong = (): void => {
      // @ts-expect-error a limit needs a window
      rateLimit({ limit: 5 });
      // @ts-expect-error one way to say it
      rateLimit({ limit: 5, window: '1m', quota: '5/1m' });
      // @ts-expect-error one way to say it
      rateLimit({ quota: '5/1m', policies: [{ name: 'a', quota: '5/1m' }] });
      // @ts-expect-error nothing is no limit
      rateLimit({});
      // @ts-expect-error an option of other libraries
      rateLimit({ max: 5, windowMs: 60_000 });
      // @ts-expect-error not a number
      rateLimit({ limit: '5', window: '1m' });
      // @ts-expect-error not a mode
      rateLimit({ limit: 5, window: '1m', mode: 'on' });
      // @ts-expect-error not a family of headers
      rateLimit({ limit: 5, window: '1m', headers: true });
      // @ts-expect-error a resolver is made by a call
      rateLimit({ limit: 5, window: '1m', key: 'ip' });
      // @ts-expect-error skip answers true or false
      rateLimit({ limit: 5, window: '1m', skip: () => 'yes' });
      // @ts-expect-error a policy has a name
      rateLimit({ policies: [{ quota: '5/1m' }] });
      // @ts-expect-error each policy has a name of its own
      rateLimit({ name: 'x', policies: [{ name: 'a', quota: '5/1m' }] });
      // @ts-expect-error not a user
      byUser(() => ({ id: 1 }));
    };
    expectTypeOf(wrong).toBeFunction();
  });

  test('of a request say that it may have a verdict', () => {
    expectTypeOf<Request['rateLimit']>().toEqualTypeOf<Verdict | undefined>();
  });

  test('of the middleware fit every version of Express, and its handle', () => {
    expectTypeOf<RateLimitMiddleware>().toExtend<LimiterHandle>();
    const use = (app4: Application4, middleware: RateLimitMiddleware): void => {
      app4.use(middleware);
      app4.get('/', middleware, (_, response) => void response.end());
      for (const [, express] of versions) express().use('/api', middleware);
    };
    expectTypeOf(use).toBeFunction();
  });

  test('of a limiter without a framework need no request', () => {
    expectTypeOf(new HttpLimiter({ limit: 5, window: '1m' })).toExtend<LimiterHandle>();
    expectTypeOf<Mode>().toEqualTypeOf<'enforce' | 'shadow' | 'off'>();
  });
});
