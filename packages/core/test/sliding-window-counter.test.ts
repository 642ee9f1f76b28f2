import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Decision, MemoryStore, slidingWindowCounter } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';
import { countAdmitted, expectTimeline, NEVER } from './timeline-table.ts';

test('the window before counts as far as it still overlaps, rounded down', () => {
  expectTimeline('10/10s', [
    [0, 10, true, 0, 0, 19_001],
    // All of it overlaps at the edge; a millisecond later floor(9.999) units of it count.
    [10_000, 1, false, 0, 1, 19_001],
    [10_001, 1, true, 0, 0, 20_001],
    [11_000, 1, false, 0, 1, 20_001],
    [12_001, 2, true, 0, 0, 26_667],
    [20_000, 8, false, 7, 1, 26_667],
    [20_001, 8, true, 0, 0, 38_751],
  ]);
});

test('a limit of 1: admitted at once, and again when nothing of the window before counts', () => {
  expectTimeline('1/10s', [
    // One unit counts as one as long as all of its window overlaps: to the end of that window.
    [0, 1, true, 0, 0, 10_001],
    [1, 1, false, 0, 10_000, 10_001],
    [9_999, 1, false, 0, 2, 10_001],
    [10_000, 1, false, 0, 1, 10_001],
    [10_001, 1, true, 0, 0, 20_001],
    [20_000, 1, false, 0, 1, 20_001],
    [20_001, 1, true, 0, 0, 30_001],
  ]);
});

test('steady traffic at the limit: all but one request of a window at most are admitted', () => {
  const quota = slidingWindowCounter({ limit: 10, window: '10s' });
  const calls = Array.from({ length: 100 }, (_, i) => ({ at: i * 1000, count: 1 }));
  const admitted = countAdmitted(quota, calls);
  for (let window = 0; window < 10; window += 1) {
    const units = admitted.slice(window * 10, window * 10 + 10).reduce((sum, one) => sum + one, 0);
    expect([9, 10]).toContain(units);
  }
});

test('no burst at the edge of a window: 100 before it and 100 after it, of which one passes', () => {
  const quota = slidingWindowCounter({ limit: 100, window: '1m' });
  const bursts = [
    { at: 59_000, count: 100 },
    { at: 60_000, count: 100 },
    { at: 60_600, count: 100 },
    { at: 90_000, count: 100 },
  ];
  expect(countAdmitted(quota, bursts)).toEqual([100, 0, 1, 49]);
});

test('a cost above the limit is never admitted, and uses nothing', () => {
  expectTimeline('3/10s', [
    [0, 4, false, 3, NEVER, 0],
    [0, 3, true, 0, 0, 16_667],
  ]);
});

test('a limit of ten million a month is exact, though its products leave 2^53', () => {
  const month = 30 * 86_400_000;
  const start = 700 * month;
  // floor(9,999,999 * overlap / month) units count; one fewer when the overlap falls below 9,999,998 / 9,999,999 of it.
  const oneLessAfter = month - Number((9_999_999n * BigInt(month) - 1n) / 9_999_999n);
  expectTimeline(
    { limit: 10_000_000, window: month },
    [
      [0, 9_999_999, true, 1, 0, 2 * month - Math.floor(month / 9_999_999)],
      [month, 1, true, 0, 0, 2 * month + 1],
      [month, 1, false, 0, oneLessAfter, 2 * month + 1],
      [month + oneLessAfter - 1, 1, false, 0, 1, 2 * month + 1],
      [month + oneLessAfter, 1, true, 0, 0, 3 * month - month / 2 + 1],
    ],
    start,
  );
});

test('a wait is exact where a product of doubles would make it a millisecond longer', () => {
  const [limit, cost, month] = [2_343_147_807_099_167, 336_245_173_512_886, 30 * 86_400_000];
  const start = 700 * month;
  const left = (at: number) =>
    limit - Number((BigInt(limit) * BigInt(2 * month - at)) / BigInt(month));
  expectTimeline(
    { limit, window: month },
    [
      [0, limit, true, 0, 0, 2 * month],
      [month, cost, false, 0, 371_955_831, 2 * month],
      [month + 371_955_830, cost, false, left(month + 371_955_830), 1, 2 * month],
      [month + 371_955_831, cost, true, left(month + 371_955_831) - cost, 0, 3 * month],
    ],
    start,
  );
});

test('is exact for any limit and window: the units of the window before, and the wait until fewer count', () => {
  const cases = fc
    .record({
      limit: fc.oneof(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.integer({ min: 1, max: 1e9 }),
      ),
      window: fc.oneof(
        fc.integer({ min: 1, max: 1e13 }),
        fc.integer({ min: 1, max: 2_592_000_000 }),
      ),
      part: fc.integer({ min: 1, max: 1000 }),
      elapsed: fc.integer({ min: 0, max: 999 }),
      share: fc.integer({ min: 1, max: 1000 }),
    })
    .map(({ limit, window, part, elapsed, share }) => ({
      share,
      limit,
      window,
      used: Math.max(1, Math.floor(limit / 1000) * part),
      elapsed: Math.floor((window / 1000) * elapsed),
    }));
  fc.assert(
    fc.property(cases, ({ limit, window, used, elapsed, share }) => {
      const clock = new ManualClock(Math.ceil(1.8e12 / window) * window);
      const store = new MemoryStore({ clock });
      const charge = { policy: 'p', key: 'k', quota: slidingWindowCounter({ limit, window }) };
      const counting = (atElapsed: number) =>
        Number((BigInt(used) * BigInt(window - atElapsed)) / BigInt(window));

      expect(store.take([{ ...charge, cost: used }])[0]?.allowed).toBe(true);
      clock.advance(window + elapsed);
      const [left] = store.take([{ ...charge, cost: 0 }]);
      const remaining = limit - counting(elapsed);
      expect(left?.remaining).toBe(remaining);
      if (remaining === limit) return;
      const cost = remaining + Math.ceil(((limit - remaining) / 1000) * share);
      const [{ retryAfterMs }] = store.take([{ ...charge, cost }]) as [Decision];
      expect(counting(elapsed + retryAfterMs - 1)).toBeGreaterThan(limit - cost);
      expect(counting(elapsed + retryAfterMs)).toBeLessThanOrEqual(limit - cost);
      const emptyAfterMs = (left?.resetAtMs as number) - clock.now();
      expect(counting(elapsed + emptyAfterMs - 1)).toBeGreaterThan(0);
      expect(counting(elapsed + emptyAfterMs)).toBe(0);
    }),
    { numRuns: 1000 },
  );
});
