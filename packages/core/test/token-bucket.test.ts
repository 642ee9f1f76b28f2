import { describe, expect, test } from '@jest/globals';
import { tokenBucket } from '../src/index.ts';
import { countAdmitted, expectTimeline, NEVER, type Row } from './timeline-table.ts';

test('a bucket of 5 refilled at 1/s, eight at once: five pass, three denied, two seconds later two pass and one is denied', () => {
  const admitted = countAdmitted(tokenBucket({ capacity: 5, refillRate: 1 }), [
    { at: 0, count: 8 },
    { at: 2000, count: 3 },
  ]);
  expect(admitted).toEqual([5, 2]);
});

test('a bucket of 10 refilled at 2/s, long idle: ten pass at once', () => {
  const admitted = countAdmitted(tokenBucket({ capacity: 10, refillRate: 2 }), [
    { at: 0, count: 10 },
    { at: 3_600_000, count: 12 },
  ]);
  expect(admitted).toEqual([10, 10]);
});

test('2 a minute: each unit comes back 30 s after the one before', () => {
  expectTimeline('token-bucket 2 2/1m', [
    [0, 1, true, 1, 0, 30_000],
    [0, 1, true, 0, 0, 60_000],
    [0, 1, false, 0, 30_000, 60_000],
    [29_999, 1, false, 0, 1, 60_000],
    [30_000, 1, true, 0, 0, 90_000],
  ]);
});

test('a call every 50 ms at 10/s: one unit each 100 ms, though none is whole at a call', () => {
  const calls = Array.from({ length: 20 }, (_, i) => ({ at: (i + 1) * 50, count: 1 }));
  const admitted = countAdmitted(tokenBucket({ capacity: 10, refillRate: 10 }), [
    { at: 0, count: 10 },
    ...calls,
  ]);
  expect(admitted).toEqual([10, ...Array.from({ length: 20 }, (_, i) => i % 2)]);
});

describe('being denied does not put off the next unit', () => {
  test.each([
    { everyMs: 500, calls: 20 },
    { everyMs: 7, calls: 1429 },
  ])('asked every $everyMs ms for 10 s', ({ everyMs, calls }) => {
    const admitted = countAdmitted(
      tokenBucket({ capacity: 1, refillRate: 1 }),
      Array.from({ length: calls + 1 }, (_, i) => ({ at: i * everyMs, count: 1 })),
    );
    const times = admitted.flatMap((one, i) => (one === 1 ? [i * everyMs] : []));
    expect(times).toHaveLength(everyMs === 7 ? 10 : 11);
    for (const [i, at] of times.entries()) {
      if (i > 0) expect(at - (times[i - 1] as number)).toBeLessThan(1000 + everyMs);
    }
  });
});

test('a denied charge deducts nothing', () => {
  expectTimeline('token-bucket 5 1/1s', [
    [0, 3, true, 2, 0, 3000],
    [0, 5, false, 2, 3000, 3000],
    [0, 1_000_000, false, 2, NEVER, 3000],
    [0, 2, true, 0, 0, 5000],
  ]);
});

test('the wait is for the whole cost', () => {
  expectTimeline('token-bucket 10 5/1s', [
    [0, 10, true, 0, 0, 2000],
    [0, 3, false, 0, 600, 2000],
    [0, 6, false, 0, 1200, 2000],
    [600, 3, true, 0, 0, 2600],
  ]);
});

test.each([
  { idle: '12 hours', ms: 43_200_000 },
  { idle: '30 days', ms: 2_592_000_000 },
  { idle: '10 years', ms: 315_360_000_000 },
])('after $idle idle it is full, and no fuller', ({ ms }) => {
  for (const rate of [1000, 1_000_000, Number.MAX_SAFE_INTEGER]) {
    const quota = tokenBucket({ capacity: 9_000_000, refillRate: rate });
    expectTimeline(quota, [
      [0, 9_000_000, true, 0, 0, Math.ceil(9e9 / rate)],
      [ms, 0, true, 9_000_000, 0, ms],
      [ms, 9_000_000, true, 0, 0, ms + Math.ceil(9e9 / rate)],
    ]);
  }
});

test('3 units in 7 ms: the parts of units that came back are kept', () => {
  const rows: Row[] = [
    [0, 10, true, 0, 0, 24],
    [1, 1, false, 0, 2, 24],
    [2, 1, false, 0, 1, 24],
    // 9 of 7 parts: one unit and two parts.
    [3, 1, true, 0, 0, 26],
    // 2 + 3 = 5 parts; 8 parts a millisecond later.
    [4, 1, false, 0, 1, 26],
    [5, 1, true, 0, 0, 28],
    [7, 1, true, 0, 0, 31],
  ];
  expectTimeline('token-bucket 10 3/7ms', rows);
});
