import { describe, expect, test } from '@jest/globals';
import { fixedWindow } from '../src/index.ts';
import { countAdmitted, expectTimeline, NEVER, type Row, START_MS } from './timeline-table.ts';

describe('windows that follow the clock', () => {
  test('count up to the limit, and start again at the edge, whoever came before it', () => {
    expectTimeline({ algorithm: 'fixed-window', limit: 3, windowMs: 60_000 }, [
      [40_000, 1, true, 2, 0, 60_000],
      [50_000, 2, true, 0, 0, 60_000],
      [50_000, 1, false, 0, 10_000, 60_000],
      [59_999, 1, false, 0, 1, 60_000],
      [60_000, 1, true, 2, 0, 120_000],
    ]);
  });

  test('remaining never goes below 0', () => {
    expectTimeline('fixed-window 3/1m', [
      [0, 1, true, 2, 0, 60_000],
      [0, 1, true, 1, 0, 60_000],
      [0, 1, true, 0, 0, 60_000],
      [0, 1, false, 0, 60_000, 60_000],
      [0, 1, false, 0, 60_000, 60_000],
    ]);
  });

  test('the time told is to the end of the window, not its length', () => {
    expectTimeline('fixed-window 1/1m', [
      [0, 1, true, 0, 0, 60_000],
      [55_000, 1, false, 0, 5_000, 60_000],
      [55_200, 1, false, 0, 4_800, 60_000],
      [59_900, 1, false, 0, 100, 60_000],
    ]);
  });

  test('a cost above the limit is never admitted, and uses nothing', () => {
    expectTimeline('fixed-window 3/1m', [
      [0, 4, false, 3, NEVER, 60_000],
      [0, 3, true, 0, 0, 60_000],
      [0, 4, false, 0, NEVER, 60_000],
    ]);
  });

  test('100 at 12:00:59 and 100 at 12:01:00: all 200 pass', () => {
    const noon = Date.UTC(2026, 0, 1, 12);
    const bursts = [
      { at: 59_000, count: 100 },
      { at: 60_000, count: 100 },
    ];
    const admitted = countAdmitted(fixedWindow({ limit: 100, window: '1m' }), bursts, noon);
    expect(admitted).toEqual([100, 100]);
  });

  test('a day is a day of UTC', () => {
    expectTimeline(
      'fixed-window 1/1d',
      [
        [0, 1, true, 0, 0, 3_600_000],
        [3_599_999, 1, false, 0, 1, 3_600_000],
        [3_600_000, 1, true, 0, 0, 3_600_000 + 86_400_000],
      ],
      Date.UTC(2026, 4, 31, 23),
    );
  });

  test('when the reported end moves on, the count has started again, and only then', () => {
    const rows: Row[] = [];
    for (let window = 0; window < 20; window += 1) {
      for (let call = 0; call < 10; call += 1) {
        rows.push([window * 50 + call * 5, 1, true, 9 - call, 0, (window + 1) * 50]);
      }
    }
    expectTimeline('fixed-window 10/50ms', rows);
  });
});

describe("windows that start at a key's first request", () => {
  const quota = 'fixed-window 5/3m align=first-request';

  test('run from there, for each key apart', () => {
    expectTimeline(
      quota,
      [
        [60_000, 5, true, 0, 0, 240_000],
        [179_000, 1, false, 0, 61_000, 240_000],
        [181_000, 1, false, 0, 59_000, 240_000],
        [239_999, 1, false, 0, 1, 240_000],
        [240_000, 1, true, 4, 0, 420_000],
      ],
      START_MS,
    );
  });

  test('the next starts at the first request after the last has ended, not at its end', () => {
    expectTimeline(quota, [
      [1, 1, true, 4, 0, 180_001],
      [200_000, 2, true, 3, 0, 380_000],
      [379_999, 1, true, 2, 0, 380_000],
      [380_000, 1, true, 4, 0, 560_000],
    ]);
  });

  test('asking, and being denied, starts none', () => {
    expectTimeline(quota, [
      [0, 0, true, 5, 0, 0],
      [7, 6, false, 5, NEVER, 7],
      [9, 1, true, 4, 0, 180_009],
    ]);
  });

  test('no request pushes the end of a window further away', () => {
    const calls = (everyMs: number) =>
      Array.from({ length: 5000 / everyMs }, (_, i) => ({ at: i * everyMs, count: 1 }));
    const window = fixedWindow({ limit: 10, window: '1s', align: 'first-request' });
    const admitted = (everyMs: number) =>
      countAdmitted(window, calls(everyMs)).reduce((sum, one) => sum + one, 0);
    expect(admitted(100)).toBe(50);
    expect(admitted(50)).toBe(50);
  });
});

test.each([
  'fixed-window 0/1m',
  'sliding-window-log 0/1m',
  'sliding-window-counter 0/1m',
  'token-bucket 0 1/1s',
  'leaky-bucket 0 1/1s',
  'fixed-window 0/1m align=first-request',
])('a limit of 0 denies everything, a cost of 0 too, with nothing to wait for: %s', (quota) => {
  const resetAt = quota === 'fixed-window 0/1m' ? 60_000 : 0;
  expectTimeline(quota, [
    [0, 1, false, 0, NEVER, resetAt],
    [0, 0, false, 0, NEVER, resetAt],
  ]);
});

test('a window of 30 days counts to its end', () => {
  const days = 86_400_000;
  expectTimeline('fixed-window 3/30d align=first-request', [
    [0, 3, true, 0, 0, 30 * days],
    [50, 1, false, 0, 30 * days - 50, 30 * days],
    [30 * days - 1, 1, false, 0, 1, 30 * days],
    [30 * days, 1, true, 2, 0, 60 * days],
  ]);
});
