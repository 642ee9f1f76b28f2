import { MemoryStore } from '@floodgate/core';
import { describe, expect, test } from '@jest/globals';
import { HttpLimiter, RouteLimits, routeName, takeOptions } from '../src/index.ts';
import type { Options } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

describe('the name of a route', () => {
  test.each<[string | string[], string | RegExp, string]>([
    ['GET', '/users/:id', 'GET /users/:id'],
    ['HEAD', '/users/:id', 'GET /users/:id'],
    [['GET', 'HEAD'], '/users/', 'GET /users'],
    [['GET', 'POST'], '/users', 'ALL /users'],
    ['POST', '/', 'POST /'],
    ['GET', /^\/x+$/, 'GET /^\\/x+$/'],
  ])('of %j %s is %s', (methods, pattern, name) => {
    expect(routeName(methods, pattern)).toBe(name);
  });
});

describe('the limits of routes', () => {
  function limits(isGlobal = true): {
    base: HttpLimiter<TestRequest>;
    routes: RouteLimits<TestRequest, never>;
  } {
    const base = new HttpLimiter<TestRequest, never>({ quota: '9/1m', store: new MemoryStore() });
    return { base, routes: new RouteLimits(base, isGlobal, ['hook']) };
  }
  const options = { quota: '2/1m' } as Options & { replace?: boolean };
  const names = (limiter: HttpLimiter<TestRequest> | undefined): unknown => {
    const outcome = limiter?.decide(new TestView()) as unknown as {
      verdict: { decisions: { policy: string }[] };
    };
    return outcome.verdict.decisions.map(({ policy }) => policy);
  };

  test('are added to those of all, under the route’s name', () => {
    const { routes } = limits();
    const own = routes.limiterOf(options as never, 'GET', '/a');
    expect(names(routes.choose(options as never, own))).toEqual(['default', 'GET /a']);
  });

  test('are made once for a route, its HEAD included, and once for each that shares the options', () => {
    const { routes } = limits();
    const get = routes.limiterOf(options as never, ['GET', 'POST'], '/a');
    expect(routes.limiterOf(options as never, 'HEAD', '/a')).toBe(get);
    expect(routes.limiterOf(options as never, 'GET', '/b')).not.toBe(get);
  });

  test('need a name where another route is called the same', () => {
    const { routes } = limits();
    routes.limiterOf(options as never, ['GET', 'POST'], '/a');
    const other = { quota: '100/1s' } as never;
    expect(() => routes.limiterOf(other, ['PUT', 'PATCH'], '/a')).toThrow(/`name`.*ALL \/a too/);
    const named = { quota: '100/1s', name: 'put' } as never;
    expect(() => routes.limiterOf(named, ['PUT', 'PATCH'], '/a')).not.toThrow();
  });

  test('of a GET and its HEAD are one, though the options are another route’s too', () => {
    const { routes } = limits();
    routes.limiterOf(options as never, ['POST', 'PUT'], '/a');
    const get = routes.limiterOf(options as never, 'GET', '/a');
    expect(routes.limiterOf(options as never, 'HEAD', '/a')).toBe(get);
  });

  test('have names that headers can tell', () => {
    const { routes } = limits();
    const own = routes.limiterOf(options as never, 'GET', '/größe');
    expect(names(own.limiter)).toEqual(['default', 'GET /gr%C3%B6%C3%9Fe']);
  });

  test('replace those of all', () => {
    const { routes } = limits();
    const replacing = { ...options, replace: true } as never;
    const own = routes.limiterOf(replacing, 'GET', '/a');
    expect(names(routes.choose(replacing, own))).toEqual(['GET /a']);
    // A limiter further out has nothing to say there.
    expect(limits().routes.choose(replacing, own)).toBeUndefined();
  });

  test('may be none', () => {
    const { base, routes } = limits();
    expect(routes.choose(false, undefined)).toBeUndefined();
    expect(routes.choose(undefined, undefined)).toBe(base);
    expect(limits(false).routes.choose(undefined, undefined)).toBeUndefined();
  });

  test('of a handler of what is not found are called so', () => {
    const { routes } = limits();
    const own = routes.limiterOf(options as never, 'GET', undefined);
    expect(names(own.limiter)).toEqual(['default', '404']);
  });

  test.each<[string, unknown, RegExp]>([
    ['true', true, /`config.rateLimit`.*true/],
    ['an option of the plugin', { ...options, hook: 'onRequest' }, /`hook`.*plugin/],
    ['replace that is a text', { ...options, replace: 'yes' }, /`replace`.*"yes"/],
  ])('are refused: %s', (_, wrong, message) => {
    expect(() => limits().routes.limiterOf(wrong as never, 'GET', '/a')).toThrow(message);
  });
});

describe('options of an adapter’s own', () => {
  test('are taken out, with their defaults', () => {
    const options = { limit: 5, hook: undefined, global: false };
    const allowed = { hook: ['first', 'second'], global: [true, false] } as const;
    expect(takeOptions(options, allowed)).toEqual({
      hook: 'first',
      global: false,
      rest: { limit: 5 },
    });
    expect(options).toEqual({ limit: 5, hook: undefined, global: false });
  });

  test('have no other value', () => {
    expect(() => takeOptions({ hook: 'third' }, { hook: ['first', 'second'] })).toThrow(
      /`hook`.*'first' or 'second'.*"third"/,
    );
  });
});
