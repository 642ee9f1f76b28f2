import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type KeyKind, keys, type UserId } from '../src/index.ts';
import { hostileText } from './hostile.ts';

describe('a key', () => {
  test('can be read back, so no two values share one', () => {
    fc.assert(
      fc.property(hostileText, (value) => {
        const key = keys.of('custom', value);
        if (!key.startsWith('custom:#')) expect(decode(key)).toBe(value);
      }),
      { numRuns: 2000 },
    );
  });

  test('of a long value is another for each value', () => {
    fc.assert(
      fc.property(hostileText, hostileText, (one, other) => {
        fc.pre(one !== other);
        const tail = 'x'.repeat(64);
        expect(keys.user(one + tail)).not.toBe(keys.user(other + tail));
        expect(keys.user(tail + one)).not.toBe(keys.user(tail + other));
        expect(keys.apiKey(one)).not.toBe(keys.apiKey(other));
      }),
    );
  });

  test('is a short text without spaces, braces and control characters, whatever went in', () => {
    const million = 1_000_000;
    fc.assert(
      fc.property(fc.array(hostileText, { minLength: 1, maxLength: 6 }), (values) => {
        const made = values.flatMap((value) => [
          keys.user(value),
          keys.apiKey(value),
          keys.of('route', value),
          keys.of(`header-${'x'.repeat(64)}`, value),
        ]);
        for (const key of [...made, keys.combine(...made)]) {
          expect(Buffer.byteLength(key)).toBeLessThan(128);
          expect(key).toMatch(/^[!-z|~]+$/);
        }
      }),
    );
    expect(keys.user('x'.repeat(million)).length).toBeLessThan(128);
    expect(keys.user('\u{1f600}'.repeat(million)).length).toBeLessThan(128);
  });

  test('of one kind is never a key of another', () => {
    const kinds: KeyKind[] = [
      'user',
      'key',
      'route',
      'custom',
      'header-a',
      'header-user',
      'global',
    ];
    fc.assert(
      fc.property(hostileText, hostileText, (one, other) => {
        const made = kinds.flatMap((kind) =>
          kind === 'global' ? ['global'] : [keys.of(kind, one), keys.of(kind, `user:${other}`)],
        );
        expect(new Set(made).size).toBe(made.length);
      }),
    );
  });

  test('of several parts is another for each list of parts', () => {
    const list = fc.array(hostileText.map(keys.user), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(list, list, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        expect(keys.combine(...one)).not.toBe(keys.combine(...other));
      }),
    );
  });

  test.each<[string, string]>([
    [
      keys.combine(keys.user('a:b'), keys.user('c')),
      keys.combine(keys.user('a'), keys.user('b:c')),
    ],
    [keys.combine(keys.user('a|user:b')), keys.combine(keys.user('a'), keys.user('b'))],
    [
      keys.combine(keys.combine(keys.user(1), keys.user(2)), keys.user(3)),
      keys.combine(keys.user(1), keys.combine(keys.user(2), keys.user(3))),
    ],
    [keys.user('%7C'), keys.user('|')],
    [keys.user('\ud800'), keys.user('\udc00')],
    [keys.user('\ud800'.repeat(70)), keys.user('\udc00'.repeat(70))],
    [keys.user('\u00e9'), keys.user('e\u0301')],
    [keys.user('A'), keys.user('a')],
  ])('%j is not %j', (one, other) => {
    expect(one).not.toBe(other);
  });

  test.each<[string, string]>([
    [keys.user(42), 'user:42'],
    [keys.user('42'), 'user:42'],
    [keys.user(42n), 'user:42'],
    [keys.user('ann@example.com'), 'user:ann@example.com'],
    [keys.user('a b|c{d}'), 'user:a%20b%7Cc%7Bd%7D'],
    [keys.user('\u00e9\u20ac'), 'user:%E9%u20AC'],
    [keys.user('x'.repeat(64)), `user:${'x'.repeat(64)}`],
    [keys.user('x'.repeat(65)), 'user:#SNsfxLBUEWO-77ACFpMI322v-gw2NFpTXVHJ9a5NNac'],
    [keys.ip('203.0.113.7'), 'ip:203.0.113.7'],
    [keys.ip('2001:db8:0:ab12::1'), 'ip:2001:db8:0:ab00::/56'],
    [keys.ip('2001:db8:0:ab12::1', 128), 'ip:2001:db8:0:ab12::1'],
    [keys.of('global', ''), 'global'],
    [keys.of('user', 42), keys.user(42)],
    [keys.of('key', 'secret'), keys.apiKey('secret')],
    [keys.of('ip', '::1'), keys.ip('::1')],
    [keys.of('header-X-Tenant', 'acme'), keys.of('header-x-tenant', 'acme')],
    [keys.of('route', 'GET /users/:id'), 'route:GET%20/users/:id'],
    [keys.combine('global'), 'global'],
    [keys.combine(keys.user(1), keys.ip('192.0.2.1')), 'user:1|ip:192.0.2.1'],
  ])('%j reads %j', (key, text) => {
    expect(key).toBe(text);
  });

  test('holds nothing of a secret', () => {
    const secret = 'sk_live_0123456789';
    expect(keys.apiKey(secret)).toMatch(/^key:[\w-]{43}$/);
    expect(keys.of('header-authorization', secret)).toMatch(/^header-authorization:[\w-]{43}$/);
  });

  test.each<[string, () => unknown, RegExp]>([
    ['user: empty', () => keys.user(''), /keys\.user/],
    ['user: NaN', () => keys.user(Number.NaN), /keys\.user.*NaN/],
    ['user: undefined', () => keys.user(undefined as unknown as UserId), /keys\.user/],
    ['user: an object', () => keys.user({} as UserId), /keys\.user.*an object/],
    ['user: true', () => keys.user(true as unknown as UserId), /keys\.user.*true/],
    ['apiKey: no text', () => keys.apiKey(5 as unknown as string), /keys\.apiKey/],
    ['apiKey: empty', () => keys.apiKey(''), /keys\.apiKey/],
    ['ip: no address', () => keys.ip('localhost'), /keys\.ip.*address.*localhost/],
    ['ip: prefix 0', () => keys.ip('::1', 0), /ipv6Prefix.*1 to 128.*0/],
    ['ip: prefix 129', () => keys.ip('::1', 129), /ipv6Prefix/],
    ['of: unknown kind', () => keys.of('usr' as KeyKind, 1), /kind.*'user'.*usr/],
    ['of: no name of a header', () => keys.of('header-a b', 'x'), /kind/],
    ['combine: nothing', () => keys.combine(), /keys\.combine/],
  ])('is refused of what is none (%s)', (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'FLOODGATE_INVALID_OPTION' }));
    expect(make).toThrow(message);
  });
});

/** The value in a key that was not hashed. */
function decode(key: string): string {
  return key
    .slice(key.indexOf(':') + 1)
    .replace(/%u([0-9A-F]{4})|%([0-9A-F]{2})/g, (_, unit?: string, byte?: string) =>
      String.fromCharCode(Number.parseInt(unit ?? byte ?? '', 16)),
    );
}
