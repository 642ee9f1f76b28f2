import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import Router from '@koa/router';
import { expectTypeOf } from 'expect-type';
import Koa, { type Context, type DefaultState } from 'koa';
import type Koa2 from 'koa2';
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

// What is checked here is checked by the compiler: the functions are never called.
describe('the types', () => {
  test('of options take what is right', () => {
    expectTypeOf(rateLimit).parameter(0).toEqualTypeOf<RateLimitOptions>();
    const options: RateLimitOptions[] = [
      { limit: 5, window: '1m' },
      { limit: 5, window: 60_000, name: 'x', key: byIp({ ipv6Prefix: 64 }) },
      { limit: (ctx) => Number(ctx.query.limit), window: '1m' },
      {
        limit: async () => 5,
        window: '1m',
        mode: async ({ secure }) => (secure ? 'off' : 'shadow'),
      },
      { quota: '5/1m', skip: fromAddresses(['10.0.0.0/8']) },
      { quota: (ctx) => (ctx.secure ? '5/1m' : { limit: 1, window: '1m' }) },
      { policies: [{ name: 'a', quota: '5/1m', when: (ctx) => ctx.secure }] },
      { quota: '5/1m', key: (ctx) => ctx.hostname },
      { quota: '5/1m', key: async () => undefined },
      { quota: '5/1m', key: [byUser((ctx: Context) => ctx.state.user?.id), byIp()] },
      { quota: '5/1m', key: combine(byIp(), (ctx: Context) => ctx.hostname) },
      { quota: '5/1m', headers: false, handler: (ctx) => ctx.throw(420) },
      { quota: '5/1m', onVerdict: (verdict, ctx) => void [verdict.allowed, ctx.path] },
    ];
    expectTypeOf(options).toBeArray();
  });

  test('of functions in options are those of Koa', () => {
    rateLimit({
      quota: '5/1m',
      key: [
        byUser((ctx) => {
          expectTypeOf(ctx).toEqualTypeOf<Context>();
          return ctx.hostname;
        }),
        byIp(),
      ],
      cost: (ctx) => {
        expectTypeOf(ctx).toEqualTypeOf<Context>();
        return 1;
      },
      skip: (ctx) => {
        expectTypeOf(ctx).toEqualTypeOf<Context>();
        return false;
      },
      message: (verdict, ctx) => {
        expectTypeOf(verdict).toEqualTypeOf<Verdict>();
        expectTypeOf(ctx).toEqualTypeOf<Context>();
        return 'No.';
      },
      handler: async (ctx, next) => {
        expectTypeOf(ctx).toEqualTypeOf<Context>();
        ctx.body = {};
        await next();
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
      rateLimit({ max: 5, duration: 60_000 });
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

  test('of a context say that it may have a verdict', () => {
    expectTypeOf<DefaultState['rateLimit']>().toEqualTypeOf<Verdict | undefined>();
    expectTypeOf<Context['state']['rateLimit']>().toEqualTypeOf<Verdict | undefined>();
    const use = (): void => {
      const router = new Router();
      router.get('/', rateLimit({ limit: 5, window: '1m' }), (ctx) => {
        expectTypeOf(ctx.state.rateLimit).toEqualTypeOf<Verdict | undefined>();
        expectTypeOf(ctx.params).toEqualTypeOf<Record<string, string>>();
      });
      new Koa().use(rateLimit({ limit: 5, window: '1m' })).use((ctx) => {
        expectTypeOf(ctx.state.rateLimit).toEqualTypeOf<Verdict | undefined>();
      });
    };
    expectTypeOf(use).toBeFunction();
  });

  test('of the middleware fit every version of Koa, and its handle', () => {
    expectTypeOf<RateLimitMiddleware>().toExtend<LimiterHandle>();
    const use = (app: Koa, app2: Koa2, middleware: RateLimitMiddleware): void => {
      app.use(middleware);
      app2.use(middleware).use((ctx) => void ctx.body);
    };
    expectTypeOf(use).toBeFunction();
  });

  test("of the middleware fit an application's and a router's own state and context", () => {
    interface State extends DefaultState {
      user: { id: number };
    }
    interface Own {
      locale: string;
    }
    const use = (middleware: RateLimitMiddleware): void => {
      const app = new Koa<State, Own>();
      app.use(middleware).use((ctx) => {
        expectTypeOf(ctx.state.user.id).toBeNumber();
        expectTypeOf(ctx.state.rateLimit).toEqualTypeOf<Verdict | undefined>();
        expectTypeOf(ctx.locale).toBeString();
      });
      const router = new Router<State, Own>();
      router.use(middleware);
      router.use('/users', middleware);
      router.all(['/a', '/b'], middleware);
      router.register('/c', ['GET', 'POST'], [middleware]);
      router.get('user', '/users/:id', middleware, (ctx) => {
        expectTypeOf(ctx.state.user.id).toBeNumber();
        expectTypeOf(ctx.locale).toBeString();
        expectTypeOf(ctx.params.id).toEqualTypeOf<string | undefined>();
      });
      app.use(router.routes());
    };
    expectTypeOf(use).toBeFunction();
  });

  test('of a limiter without a framework need no request', () => {
    expectTypeOf(new HttpLimiter({ limit: 5, window: '1m' })).toExtend<LimiterHandle>();
    expectTypeOf<Mode>().toEqualTypeOf<'enforce' | 'shadow' | 'off'>();
  });
});

// The compiler's own run sees the types of Koa 3, wherever sources and tests say `koa`.
test('all of this holds with the types of Koa 2 as well', () => {
  const tsc = [require.resolve('typescript/bin/tsc'), '--listFiles', '-p', 'tsconfig.koa2.json'];
  const { stdout } = spawnSync(process.execPath, tsc, {
    cwd: join(__dirname, '..'),
    encoding: 'utf8',
  });
  expect(stdout).not.toMatch(/error TS/);
  expect(stdout.match(/@types\+koa@\d/g)).toEqual(['@types+koa@2']);
  // A compiler of its own, on however busy a machine.
}, 180_000);
