import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  byApiKey,
  byHeader,
  byIp,
  byRoute,
  byUser,
  combine,
  global,
  type KeyOption,
  keys,
} from '../src/index.ts';
import { toResolvers } from '../src/resolvers.ts';
import { anyText, hostileText } from './hostile.ts';
import { type TestRequest, TestView } from './request.ts';

const user = byUser((request: TestRequest) => request.user);

describe('a resolver finds', () => {
  test.each<[string, KeyOption<TestRequest>, TestRequest, string | undefined]>([
    ['a user', user, { user: 42 }, keys.user(42)],
    ['a user of a text', user, { user: 'ann' }, keys.user('ann')],
    ['the user 0', user, { user: 0 }, keys.user(0)],
    ['no user', user, {}, undefined],
    ['no user of an empty text', user, { user: '' }, undefined],
    ['no user of null', byUser(() => null), {}, undefined],
    ['no user of false', byUser(() => false), {}, undefined],

    ['an API key', byApiKey(), { headers: { 'x-api-key': 's3' } }, keys.apiKey('s3')],
    ['no API key', byApiKey(), {}, undefined],
    ['no empty API key', byApiKey(), { headers: { 'x-api-key': '' } }, undefined],
    [
      'an API key elsewhere',
      byApiKey({ header: 'X-Token' }),
      { headers: { 'x-token': 's3' } },
      keys.apiKey('s3'),
    ],
    [
      'a bearer token',
      byApiKey({ header: 'Authorization' }),
      { headers: { authorization: 'Bearer s3' } },
      keys.apiKey('s3'),
    ],
    [
      'the same token, written otherwise',
      byApiKey({ header: 'authorization' }),
      { headers: { authorization: 'bearer   s3' } },
      keys.apiKey('s3'),
    ],

    ['an address', byIp(), { address: '203.0.113.7' }, keys.ip('203.0.113.7')],
    ['a site', byIp(), { address: '2001:db8::1' }, keys.ip('2001:db8::2')],
    [
      'a smaller site',
      byIp({ ipv6Prefix: 64 }),
      { address: '2001:db8::1' },
      keys.ip('2001:db8::1', 64),
    ],
    ['no address', byIp(), { address: undefined }, undefined],
    ['no address in a text', byIp(), { address: 'unknown' }, undefined],
    [
      'an address given by hand',
      byIp({ from: ({ headers }: TestRequest) => headers?.['x-real-ip'] }),
      { headers: { 'x-real-ip': '[2001:db8::1]:443' } },
      keys.ip('2001:db8::1'),
    ],
    ['no address given by hand', byIp({ from: () => undefined }), {}, undefined],

    [
      'a header',
      byHeader('X-Tenant'),
      { headers: { 'x-tenant': 'acme' } },
      keys.of('header-x-tenant', 'acme'),
    ],
    ['no header', byHeader('X-Tenant'), {}, undefined],
    ['a route', byRoute(), { route: 'GET /users/:id' }, keys.of('route', 'GET /users/:id')],
    ['no route', byRoute(), {}, undefined],
    ['everyone', global(), {}, 'global'],

    ['an answer of your own', () => 'user:42', {}, keys.of('custom', 'user:42')],
    ['a number of your own', () => 42, {}, keys.of('custom', 42)],
    ['nothing of your own', () => undefined, {}, undefined],
    ['nothing in an empty text', () => '', {}, undefined],
    ['nothing in null', () => null, {}, undefined],

    ['the first of several', [user, byIp()], { user: 42 }, keys.user(42)],
    ['the second of several', [user, byIp()], {}, keys.ip('203.0.113.7')],
    ['none of several', [user, byApiKey()], {}, undefined],

    [
      'several together',
      combine(user, byRoute()),
      { user: 42, route: 'GET /' },
      keys.combine(keys.user(42), keys.of('route', 'GET /')),
    ],
    ['nothing unless all are found', combine(user, byRoute()), { user: 42 }, undefined],
    [
      'one of several together with another',
      combine([user, byIp()], global()),
      {},
      keys.combine(keys.ip('203.0.113.7'), 'global'),
    ],
    [
      'your own together with another',
      combine(() => 'a', global()),
      {},
      keys.combine(keys.of('custom', 'a'), 'global'),
    ],
    ['one alone', combine(user), { user: 42 }, keys.user(42)],
  ])('%s', (_, option, request, expected) => {
    expect(find(option, request)).toBe(expected);
  });

  test.each<[string, KeyOption<TestRequest>, string | undefined]>([
    ['a user', byUser(async () => 42), 'user:42'],
    ['no user', byUser(async () => undefined), undefined],
    ['an address', byIp({ from: async () => '203.0.113.7' }), 'ip:203.0.113.7'],
    ['your own', async () => 'a', 'custom:a'],
    ['several together', combine(async () => 'a', global()), 'custom:a|global'],
    ['nothing together', combine(async () => undefined, global()), undefined],
  ])('%s in a promise', async (_, option, expected) => {
    const found = find(option, {});
    expect(found).toBeInstanceOf(Promise);
    expect(await found).toBe(expected);
  });

  test('a key for each user, whatever the id is made of', () => {
    const id = fc.oneof(hostileText, anyText, fc.integer(), fc.bigInt());
    fc.assert(
      fc.property(id, id, (one, other) => {
        const [a, b] = [byUser(() => one), byUser(() => other)].map((by) => find(by, {}));
        expect(a === b).toBe(String(one) === String(other));
      }),
    );
  });
});

describe('a resolver refuses', () => {
  test.each<[string, () => unknown, RegExp]>([
    [
      'a user NaN',
      () =>
        find(
          byUser(() => Number.NaN),
          {},
        ),
      /byUser.*NaN/,
    ],
    [
      'a user Infinity',
      () =>
        find(
          byUser(() => Number.POSITIVE_INFINITY),
          {},
        ),
      /byUser.*Infinity/,
    ],
    [
      'a user that is an object',
      () =>
        find(
          byUser(() => ({ id: 1 }) as never),
          {},
        ),
      /byUser.*`id`/,
    ],
    [
      'a user that is true',
      () =>
        find(
          byUser(() => true as never),
          {},
        ),
      /byUser.*true/,
    ],
    ['an address that is a number', () => find(byIp({ from: () => 7 as never }), {}), /byIp.*7/],
    ['your own NaN', () => find(() => Number.NaN, {}), /key.*NaN/],
    ['your own object', () => find(() => ({}) as never, {}), /key.*an object/],
    ['no function', () => byUser('id' as never), /byUser.*function/],
    ['an address from no function', () => byIp({ from: 'x' as never }), /from.*function/],
    ['a prefix of 0 bits', () => byIp({ ipv6Prefix: 0 }), /ipv6Prefix/],
    ['a prefix of 129 bits', () => byIp({ ipv6Prefix: 129 }), /ipv6Prefix/],
    ['half a bit', () => byIp({ ipv6Prefix: 56.5 }), /ipv6Prefix/],
    ['an unknown option', () => byIp({ prefix: 64 } as never), /byIp options.*`prefix`/],
    ['a header without a name', () => byHeader(''), /byHeader/],
    ['a header with a space', () => byApiKey({ header: 'x api key' }), /header/],
    ['nothing to combine', () => combine(), /combine/],
    ['what is no resolver', () => combine('ip' as never), /combine.*"ip"/],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'FLOODGATE_INVALID_OPTION' }));
    expect(make).toThrow(message);
  });
});

/** What the resolvers of an option find, tried in turn. */
function find(
  option: KeyOption<TestRequest>,
  request: TestRequest,
): string | undefined | Promise<string | undefined> {
  const view = new TestView(request);
  for (const resolver of toResolvers(option, 'key')) {
    const key = resolver.find(view);
    if (key !== undefined) return key;
  }
  return undefined;
}
