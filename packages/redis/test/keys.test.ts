import { type Subject, toQuota } from '@floodgate/core';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { RedisStore } from '../src/index.ts';
import { subjectKey } from '../src/keys.ts';
import { LIBRARIES } from './clients.ts';

/** The bytes that Redis sees. */
function bytesOf(subject: Subject): string {
  return Buffer.from(subjectKey('floodgate', subject), 'utf8').toString('latin1');
}

/** What `subjectKey` has to be the inverse of: from the bytes, back to the subject. */
function subjectOf(bytes: string): Subject {
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  const [, key = '', policy = ''] = /^floodgate:\{([^{}]*)\}:(.*)$/s.exec(text) ?? [];
  return { policy: decode(policy), key: decode(key) };
}

function decode(text: string): string {
  return text.replace(/%([0-9a-f]+);/g, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Made of what has a meaning in a key, or no encoding, or looks like what stands for these. */
const PARTS = ['{', '}', '%', ':', ';', '\n', '\0', '\ud800', '\udc00', '\udfff', '\ufffd', '😀'];
const nasty = fc
  .array(fc.constantFrom(...PARTS, '%7b;', '%7d;', '%25;', '%d800;', '7b', '}:{', 'a'), {
    maxLength: 6,
  })
  .map((parts) => parts.join(''));
const text = fc.oneof(nasty, fc.string({ unit: 'binary' }), fc.string());
const subject = fc.record({ policy: text, key: text });

describe('the key of a subject', () => {
  test.each<[policy: string, key: string, expected: string]>([
    ['per-minute', 'ip:203.0.113.7', 'floodgate:{ip:203.0.113.7}:per-minute'],
    ['per-hour', 'ip:2001:db8:1:2::/64', 'floodgate:{ip:2001:db8:1:2::/64}:per-hour'],
    ['logins', 'ann@example.com', 'floodgate:{ann@example.com}:logins'],
    ['je Stunde', 'Jürgen Größe 😀', 'floodgate:{Jürgen Größe 😀}:je Stunde'],
    ['a{b}', 'a{b}', 'floodgate:{a%7b;b%7d;}:a{b}'],
    ['100%', '100%', 'floodgate:{100%25;}:100%25;'],
    ['half \ud83d', 'half \ude00', 'floodgate:{half %de00;}:half %d83d;'],
  ])('policy %j, key %j', (policy, key, expected) => {
    expect(subjectKey('floodgate', { policy, key })).toBe(expected);
  });

  test('tells the subject', () => {
    fc.assert(
      fc.property(subject, (one) => {
        expect(subjectOf(bytesOf(one))).toEqual(one);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is that of no other', () => {
    const pair = fc.oneof(
      fc.tuple(subject, subject),
      // The same characters, cut elsewhere.
      fc.tuple(text, fc.nat(20), fc.nat(20)).map(([all, i, j]): [Subject, Subject] => [
        { policy: all.slice(i), key: all.slice(0, i) },
        { policy: all.slice(j), key: all.slice(0, j) },
      ]),
      // One is what stands for the other.
      fc.tuple(text, text).map(([policy, key]): [Subject, Subject] => {
        const other = subjectKey('', { policy, key });
        return [
          { policy, key },
          { policy: other.slice(other.indexOf('}:') + 2), key: other.slice(2) },
        ];
      }),
      // A character more, or less.
      fc
        .tuple(subject, fc.constantFrom(...PARTS), fc.nat(20))
        .map(([one, part, i]): [Subject, Subject] => [
          one,
          { ...one, key: one.key.slice(0, i) + part + one.key.slice(i) },
        ]),
    );
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const same = one.policy === other.policy && one.key === other.key;
        expect(bytesOf(one) === bytesOf(other)).toBe(same);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('in Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ args: ['--cluster-enabled', 'yes'] });
  });
  afterAll(() => server.stop());

  test('all policies of a key are in one slot', async () => {
    const client = new Redis(server.url);
    const ids = [
      ...fc.sample(fc.uuid(), 300),
      ...fc.sample(fc.string({ minLength: 1 }), 300),
      ...fc.sample(nasty, 400).map((id) => `${id}x`),
    ];
    const slotsOf = async (policy: string): Promise<unknown[]> => {
      const slots = ids.map((key) =>
        client.call('CLUSTER', 'KEYSLOT', subjectKey('floodgate', { policy, key })),
      );
      return Promise.all(slots);
    };
    const [slots, ...others] = await Promise.all(['per-minute', '', 'a}{b', '😀'].map(slotsOf));
    for (const other of others) expect(other).toEqual(slots);
    // And the keys spread over all slots.
    expect(new Set(slots).size).toBeGreaterThan(600);
    client.disconnect();
  });
});

describe.each(LIBRARIES)('through $name', ({ open }) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  test('subjects that look alike count apart', async () => {
    const { client, close } = await open(server);
    const store = new RedisStore({ client, timeout: '20s' });
    const texts = [
      ...PARTS,
      'a',
      'A',
      ' a',
      'a ',
      'a:',
      ':a',
      '%7b;',
      'é',
      'e\u0301',
      'a\0',
      '{a}',
    ];
    const charges = texts.flatMap((one) =>
      ['b', one].map((policy) => ({ policy, key: one, quota: toQuota('5/1h'), cost: 1 })),
    );
    for (const remaining of [4, 3]) {
      const decisions = await store.take(charges);
      expect(decisions.map((decision) => decision.remaining)).toEqual(charges.map(() => remaining));
    }
    expect(await server.command('DBSIZE')).toBe(charges.length);
    await store.reset(charges);
    expect(await server.command('DBSIZE')).toBe(0);
    close();
  });
});
