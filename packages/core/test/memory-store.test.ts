import { describe, expect, test } from '@jest/globals';
import { MemoryStore, toQuota } from '../src/index.ts';
import { setUp } from './flooded-store.ts';

test('answers at once, without a promise', () => {
  const { store, quota } = setUp(10);
  const decisions = store.take([{ policy: 'p', key: 'k', quota, cost: 1 }]);
  expect(decisions).toBeInstanceOf(Array);
  expect(store.refund([])).toBeUndefined();
  expect(store.block([], 1)).toBeUndefined();
  expect(store.reset([])).toBeUndefined();
  expect(store.close()).toBeUndefined();
});

describe('clear and close', () => {
  test('clear forgets all, but not how many were dropped', () => {
    const { store, take, flood } = setUp(10);
    flood(15);
    store.block([{ policy: 'p', key: 'a' }], 1000);
    store.clear();
    expect(store.size).toBe(0);
    expect(store.dropped).toBe(6);
    expect(take('a').allowed).toBe(true);
    flood(10);
    expect(store.dropped).toBe(7);
  });

  test('a closed store takes no more, and says so; it may be closed again', () => {
    const { store, quota, take } = setUp(10);
    take('k');
    store.close();
    store.close();
    expect(store.size).toBe(0);
    const closed = expect.objectContaining({ code: 'FLOODGATE_STORE_CLOSED' });
    const charge = { policy: 'p', key: 'k', quota, cost: 1 };
    expect(() => store.take([charge])).toThrow(closed);
    expect(() => store.refund([{ ...charge, atMs: 0 }])).toThrow(closed);
    expect(() => store.block([charge], 1)).toThrow(closed);
    expect(() => store.reset([charge])).toThrow(closed);
  });

  test('a reset forgets one subject, and what it leaves is used again', () => {
    const { store, take, flood } = setUp(1000);
    for (let i = 0; i < 100; i += 1) {
      flood(9);
      take('k');
      store.reset([{ policy: 'p', key: 'k' }]);
    }
    expect(store.size).toBe(900);
    expect(store.dropped).toBe(0);
    store.reset([
      { policy: 'p', key: 'unseen' },
      { policy: 'unseen', key: 'k' },
    ]);
    expect(take('stranger-0').allowed).toBe(false);
  });
});

describe('options', () => {
  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', null])(
    'maxKeys: %p',
    (maxKeys) => {
      expect(() => new MemoryStore({ maxKeys: maxKeys as number })).toThrow(
        /^Expected `maxKeys` to be a whole number from 1 to \d+, got/,
      );
    },
  );

  test.each([null, {}, Date.now, 5])('clock: %p', (clock) => {
    expect(() => new MemoryStore({ clock: clock as never })).toThrow(/^Expected `clock` to be/);
  });

  test('one that there is not', () => {
    expect(() => new MemoryStore({ maxKey: 5 } as never)).toThrow('`maxKey`');
  });

  test('none are needed: a million keys, by the system clock', () => {
    const store = new MemoryStore();
    const before = Date.now();
    const [decision] = store.take([{ policy: 'p', key: 'k', quota: toQuota('1/1m'), cost: 1 }]);
    expect(decision?.atMs).toBeGreaterThanOrEqual(before);
    expect(decision?.atMs).toBeLessThanOrEqual(Date.now());
  });
});

describe('a charge that no store can take', () => {
  const { store, quota } = setUp(10);
  const good = { policy: 'p', key: 'k', quota, cost: 1 };

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined, 2 ** 53])(
    'a cost of %p',
    (cost) => {
      expect(() => store.take([{ ...good, cost: cost as number }])).toThrow(
        expect.objectContaining({
          code: 'FLOODGATE_INVALID_CHARGE',
          message: expect.stringMatching(/^Expected `cost` to be a whole number, 0 or more, got /),
        }),
      );
    },
  );

  test.each(['', undefined, null, 42, {}])('a key of %p', (key) => {
    expect(() => store.take([{ ...good, key: key as string }])).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_INVALID_CHARGE' }),
    );
  });

  test('one subject twice: the error names the policy, and not the key', () => {
    expect(() =>
      store.take([
        good,
        { ...good, key: 'secret', policy: 'q' },
        { ...good, key: 'secret', policy: 'q' },
      ]),
    ).toThrow(
      expect.objectContaining({
        code: 'FLOODGATE_DUPLICATE_SUBJECT',
        message: expect.not.stringContaining('secret'),
      }),
    );
  });

  test('charges nothing', () => {
    expect(store.size).toBe(0);
  });
});
