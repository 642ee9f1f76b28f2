import { expect, test } from '@jest/globals';
import { leakyBucket } from '../src/index.ts';
import { countAdmitted, expectTimeline, NEVER, type Row } from './timeline-table.ts';

test('admitted requests wait for their turn, one after the other at the rate', () => {
  expectTimeline('leaky-bucket 4 2/1s', [
    [0, 1, true, 3, 0, 500],
    [0, 1, true, 2, 0, 1000, 500],
    [0, 2, true, 0, 0, 2000, 1000],
    [0, 1, false, 0, 500, 2000],
    [500, 1, true, 0, 0, 2500, 1500],
    [2300, 1, true, 2, 0, 3000, 200],
    [10_000, 1, true, 3, 0, 10_500],
  ]);
});

test('a turn is rounded up to a whole millisecond', () => {
  expectTimeline('leaky-bucket 10 3/1s', [
    [0, 1, true, 9, 0, 334],
    [0, 1, true, 8, 0, 667, 334],
    [0, 1, true, 7, 0, 1000, 667],
    [0, 1, true, 6, 0, 1334, 1000],
  ]);
});

test('without shape it polices only: the same requests pass, and none waits', () => {
  expectTimeline('leaky-bucket 4 2/1s shape=false', [
    [0, 1, true, 3, 0, 500],
    [0, 3, true, 0, 0, 2000],
    [0, 1, false, 0, 500, 2000],
  ]);
});

test('a cost of 0 is never delayed', () => {
  expectTimeline('leaky-bucket 4 2/1s', [
    [0, 4, true, 0, 0, 2000],
    [0, 0, true, 0, 0, 2000],
  ]);
});

test('10 per 30 s, one hit a second: it leaks while hits keep coming', () => {
  const remaining = [9, 8, 7, 7, 6, 5, 5, 4, 3, 3, 2];
  const rows = remaining.map((left, second): Row => {
    // One unit leaks in three seconds.
    const after = (second + 1) * 3000 - second * 1000;
    return [second * 1000, 1, true, left, 0, second * 1000 + after];
  });
  expectTimeline('leaky-bucket 10 10/30s shape=false', rows);
});

test.each([1000, 86_400_000, 315_360_000_000])(
  'after %d ms idle, all of it is there and no more',
  (ms) => {
    expectTimeline('leaky-bucket 10 1/1s', [
      [0, 3, true, 7, 0, 3000],
      [ms + 3000, 0, true, 10, 0, ms + 3000],
    ]);
  },
);

test('6 a minute, all at once: six pass, the seventh is told 10 s', () => {
  const rows: Row[] = Array.from({ length: 6 }, (_, i) => [0, 1, true, 5 - i, 0, (i + 1) * 10_000]);
  expectTimeline('leaky-bucket 6 6/1m shape=false', [...rows, [0, 1, false, 0, 10_000, 60_000]]);
});

test('a cost above the capacity is never admitted, and uses nothing', () => {
  expectTimeline('leaky-bucket 5 1/1s', [
    [0, 6, false, 5, NEVER, 0],
    [0, 5, true, 0, 0, 5000],
  ]);
});

test('a long queue: as many as the capacity are admitted at once', () => {
  const quota = leakyBucket({ capacity: 1000, leakRate: 7 });
  expect(countAdmitted(quota, [{ at: 0, count: 1200 }])).toEqual([1000]);
});
