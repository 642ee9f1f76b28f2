import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Decision } from '../src/index.ts';
import { setUp } from './flooded-store.ts';

// How many keys a memory store remembers, and whom it forgets.

describe('under a flood of new keys', () => {
  test.each([1, 2, 3, 10, 2000])('there are never more than maxKeys (%d)', (maxKeys) => {
    const { store, flood } = setUp(maxKeys);
    for (let i = 0; i < 10; i += 1) {
      flood(maxKeys);
      expect(store.size).toBe(maxKeys);
    }
    expect(store.dropped).toBe(9 * maxKeys);
  });

  test('whoever is denied stays denied until it may be admitted', () => {
    const { clock, take, flood } = setUp(100);
    for (const key of ['a', 'b', 'c']) take(key);
    const waits = ['a', 'b', 'c'].map((key) => take(key).retryAfterMs);
    expect(waits).toEqual([60_000, 60_000, 60_000]);
    flood(1000);
    clock.advance(59_999);
    flood(1000);
    for (const key of ['a', 'b', 'c']) expect(take(key)).toMatchObject({ retryAfterMs: 1 });
    clock.advance(1);
    for (const key of ['a', 'b', 'c']) expect(take(key).allowed).toBe(true);
  });

  test('whoever is blocked stays blocked to the end of the block', () => {
    const { clock, store, take, flood } = setUp(100);
    store.block([{ policy: 'p', key: 'a' }], 600_000);
    for (let minute = 0; minute < 10; minute += 1) {
      expect(take('a').blocked).toBe(true);
      flood(500);
      clock.advance(60_000);
    }
    expect(take('a').allowed).toBe(true);
  });

  test.each([100, 101, 103])(
    'who is denied, was blocked and is so no more, is still denied (%d)',
    (maxKeys) => {
      const { store, take, flood } = setUp(maxKeys);
      take('a');
      expect(take('a').allowed).toBe(false);
      store.block([{ policy: 'p', key: 'a' }], 1000);
      store.block([{ policy: 'p', key: 'a' }], 0);
      flood(5000);
      expect(take('a').allowed).toBe(false);
    },
  );

  test('nobody denied is forgotten as long as there is anybody else, in whatever order they came', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 99 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 400 }),
        (arrivals, floodSize) => {
          const { take, flood } = setUp(100);
          const denied = new Set(arrivals.map((i) => `denied-${i}`));
          for (const key of denied) {
            take(key);
            flood(3);
            take(key);
          }
          // Each was still there to be denied, 3 strangers later, or has been taken anew and is denied now.
          for (const key of denied) while (take(key).allowed);
          flood(floodSize);
          for (const key of denied) expect(take(key).allowed).toBe(false);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('where all are denied, the bound holds all the same, and the first to be free goes first', () => {
    const { clock, store, take } = setUp(10);
    for (let i = 0; i < 10; i += 1) {
      take(`k${i}`);
      expect(take(`k${i}`).allowed).toBe(false);
      clock.advance(1000);
    }
    take('new');
    expect(store.size).toBe(10);
    expect(store.dropped).toBe(1);
    expect(take('k0', 0).remaining).toBe(1);
    for (let i = 1; i < 10; i += 1) expect(take(`k${i}`, 0).remaining).toBe(0);
  });

  test('whoever was denied and has had its turn makes room like anyone else', () => {
    const { clock, store, take, flood } = setUp(1000);
    for (let i = 0; i < 1000; i += 1) {
      take(`k${i}`);
      take(`k${i}`);
    }
    clock.advance(60_000);
    flood(3000);
    expect(store.size).toBe(1000);
    for (let i = 0; i < 1000; i += 1) expect(take(`k${i}`, 0).remaining).toBe(1);
  });

  test.each([100, 101, 1000, 1003])(
    'who came once goes, those that came long ago first (%d)',
    (maxKeys) => {
      const { take, flood } = setUp(maxKeys, '10/1h');
      flood(3 * maxKeys);
      const remembered = (i: number) => take(`stranger-${i}`, 0).remaining < 10;
      const oldest = Array.from({ length: 2 * maxKeys }, (_, i) => i).filter(remembered);
      const newest = Array.from({ length: maxKeys }, (_, i) => 2 * maxKeys + i).filter(remembered);
      expect(oldest.length).toBeLessThan(maxKeys / 10);
      expect(newest.length).toBeGreaterThan((maxKeys * 9) / 10);
    },
  );

  test('who comes again and again is kept, and who came once goes', () => {
    const { take, flood } = setUp(1000, '1000000/1h');
    for (let i = 0; i < 500; i += 1) {
      take('regular');
      flood(20);
    }
    expect(take('regular', 0).remaining).toBe(1_000_000 - 500);
  });
});

describe('who is idle', () => {
  test('is dropped, a few at a time, as others come, and does not count as dropped', () => {
    const { clock, store, flood } = setUp(200_000);
    flood(30_000);
    expect(store.size).toBe(30_000);
    clock.advance(120_000);
    let before = store.size;
    for (let i = 0; i < 20; i += 1) {
      flood(1000);
      // Never all at once: the work of one take does not grow with the number of keys.
      expect(before - store.size).toBeLessThan(10_000);
      before = store.size;
    }
    expect(store.size).toBeLessThan(25_000);
    expect(store.dropped).toBe(0);
  });

  test.each([
    'fixed-window 1/10s align=first-request',
    'sliding-window-log 1/10s',
    'token-bucket 1 1/10s',
    'leaky-bucket 1 1/10s',
  ])('is not dropped a moment too early: %s', (quota) => {
    const { clock, store, take, flood } = setUp(100_000, quota);
    clock.advance(1);
    for (let i = 0; i < 2_000; i += 1) take(`k${i}`);
    clock.advance(9_999);
    flood(2_000);
    for (let i = 0; i < 2_000; i += 1) expect(take(`k${i}`, 0).remaining).toBe(0);
    clock.advance(1);
    for (let i = 0; i < 2_000; i += 1) expect(take(`k${i}`, 0).remaining).toBe(1);
    expect(store.dropped).toBe(0);
  });

  test('where there is room for a minute of traffic, half an hour of it drops nobody that counts', () => {
    const { clock, store, flood } = setUp(5_000);
    for (let minute = 0; minute < 30; minute += 1) {
      flood(1_500);
      clock.advance(60_000);
    }
    expect(store.dropped).toBe(0);
    expect(store.size).toBeLessThanOrEqual(5_000);
  });

  test.each([
    'fixed-window 1/1m',
    'sliding-window-log 1/1m',
    '1/30s',
    'token-bucket 1 1/1m',
    'leaky-bucket 1 1/1m',
  ])('after a block and a while by %s too', (quota) => {
    const { clock, store, take, flood } = setUp(50_000, quota);
    flood(4_000);
    for (let i = 0; i < 400; i += 1) {
      store.block([{ policy: 'p', key: `stranger-${i}` }], 30_000);
      take(`stranger-${i}`);
    }
    clock.advance(120_000);
    flood(4_000);
    clock.advance(120_000);
    flood(4_000);
    expect(store.size).toBeLessThanOrEqual(6_000);
    expect(store.dropped).toBe(0);
  });
});

describe('a group', () => {
  test('larger than the store is decided whole, though not all of it can be remembered', () => {
    const { store, quota } = setUp(3);
    const charges = Array.from({ length: 10 }, (_, i) => ({
      policy: `p${i}`,
      key: 'k',
      quota,
      cost: 1,
    }));
    expect(store.take(charges).every(({ allowed }) => allowed)).toBe(true);
    expect(store.size).toBe(3);
    const again = store.take(charges);
    expect(again.filter(({ allowed }) => !allowed)).toHaveLength(3);
    expect(store.size).toBe(3);
  });

  test('is remembered once for each of its subjects, old and new', () => {
    const { store, quota } = setUp(100, '9/1m');
    const group = (...keys: string[]) =>
      store.take(keys.map((key) => ({ policy: 'p', key, quota, cost: 1 })));
    group('a', 'b');
    expect(store.size).toBe(2);
    group('c', 'a', 'd', 'b');
    expect(store.size).toBe(4);
    expect(group('a', 'c').map(({ remaining }) => remaining)).toEqual([6, 7]);
    store.reset(['a', 'b', 'c', 'd'].map((key) => ({ policy: 'p', key })));
    expect(store.size).toBe(0);
  });

  test('of old and new subjects in a full store is charged to the right ones', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uniqueArray(fc.nat({ max: 12 }), { minLength: 1, maxLength: 6 }), {
          minLength: 1,
          maxLength: 40,
        }),
        (groups) => {
          const { store, quota } = setUp(6, '1000/1h');
          for (const group of groups) {
            const charges = group.map((i) => ({ policy: 'p', key: `k${i}`, quota, cost: i + 1 }));
            store.take(charges);
            expect(store.size).toBeLessThanOrEqual(6);
            // Whoever is remembered was charged in multiples of its own cost only.
            for (const charge of charges) {
              const [decision] = store.take([{ ...charge, cost: 0 }], { mode: 'peek' });
              expect((1000 - (decision as Decision).remaining) % charge.cost).toBe(0);
            }
          }
        },
      ),
    );
  });
});
