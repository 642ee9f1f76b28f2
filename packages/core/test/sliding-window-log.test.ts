import { describe, expect, test } from '@jest/globals';
import { ChargeLog } from '../src/algorithms/charge-log.ts';
import {
  type Decision,
  MemoryStore,
  parseQuota,
  RateLimiter,
  slidingWindowLog,
  type TakeMode,
} from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';
import { countAdmitted, expectTimeline, NEVER, type Row } from './timeline-table.ts';

test('the wait is for the oldest charge to leave, not for the newest', () => {
  expectTimeline('sliding-window-log 2/1m', [
    [0, 1, true, 1, 0, 60_000],
    [10_000, 1, true, 0, 0, 70_000],
    [20_000, 1, false, 0, 40_000, 70_000],
    [59_999, 1, false, 0, 1, 70_000],
    [60_000, 1, true, 0, 0, 120_000],
  ]);
});

test('for a larger cost the wait is for as many of the oldest as it takes', () => {
  expectTimeline('sliding-window-log 10/1m', [
    [0, 3, true, 7, 0, 60_000],
    [1_000, 3, true, 4, 0, 61_000],
    [2_000, 3, true, 1, 0, 62_000],
    [3_000, 1, true, 0, 0, 63_000],
    [4_000, 3, false, 0, 56_000, 63_000],
    [4_000, 4, false, 0, 57_000, 63_000],
    [4_000, 6, false, 0, 57_000, 63_000],
    [4_000, 9, false, 0, 58_000, 63_000],
    [4_000, 10, false, 0, 59_000, 63_000],
    [60_000, 3, true, 0, 0, 120_000],
  ]);
});

test('what has left the window no longer counts', () => {
  expectTimeline('sliding-window-log 10/1m', [
    [0, 10, true, 0, 0, 60_000],
    [60_001, 1, true, 9, 0, 120_001],
  ]);
});

test('a cost above the limit is never admitted, and uses nothing', () => {
  expectTimeline('sliding-window-log 10/1m', [
    [0, 5, true, 5, 0, 60_000],
    [0, 100, false, 5, NEVER, 60_000],
    [0, 5, true, 0, 0, 60_000],
  ]);
});

test('100 at 12:00:59 and 100 at 12:01:00: only the first 100 pass', () => {
  const bursts = [
    { at: 59_000, count: 100 },
    { at: 60_000, count: 100 },
  ];
  const noon = Date.UTC(2026, 0, 1, 12);
  const admitted = countAdmitted(slidingWindowLog({ limit: 100, window: '1m' }), bursts, noon);
  expect(admitted).toEqual([100, 0]);
});

test('charges of the same millisecond are counted each', () => {
  const quota = slidingWindowLog({ limit: 50, window: '1s' });
  expect(countAdmitted(quota, [{ at: 0, count: 1000 }])).toEqual([50]);
});

test('15 requests around the edge of a window: at most 5 in any 20 s', () => {
  const calls = Array.from({ length: 15 }, (_, i) => ({ at: 15_000 + i * 700, count: 1 }));
  const admitted = countAdmitted(slidingWindowLog({ limit: 5, window: '20s' }), calls);
  expect(admitted).toEqual([1, 1, 1, 1, 1, ...Array(10).fill(0)]);
});

test('each key has a window of its own', () => {
  const clock = new ManualClock(0);
  const store = new MemoryStore({ clock });
  const quota = slidingWindowLog({ limit: 1, window: '10s' });
  const calls: [at: number, key: string, allowed: boolean][] = [
    [0, 'first', true],
    [7_000, 'second', true],
    [7_100, 'second', false],
    [12_000, 'second', false],
    [12_000, 'first', true],
    [16_999, 'second', false],
    [17_000, 'second', true],
  ];
  for (const [at, key, allowed] of calls) {
    clock.set(at);
    const [decision] = store.take([{ policy: 'p', key, quota, cost: 1 }]);
    expect({ at, key, allowed: decision?.allowed }).toEqual({ at, key, allowed });
  }
});

describe('a long log', () => {
  test('keeps its order when it grows, and when its oldest leave while others come', () => {
    const rows: Row[] = [];
    // One unit each millisecond, of which a window of 100 ms holds 100 at a limit of 1000.
    for (let at = 0; at < 1000; at += 1) {
      rows.push([at, 1, true, 1000 - Math.min(at + 1, 100), 0, at + 100]);
    }
    expectTimeline('sliding-window-log 1000/100ms', rows);
  });

  test('that was full and then idle starts anew', () => {
    expectTimeline('sliding-window-log 3/10ms', [
      ...[0, 1, 2].map((at): Row => [at, 1, true, 2 - at, 0, at + 10]),
      [5, 1, false, 0, 5, 12],
      [1_000_000, 3, true, 0, 0, 1_000_010],
      [1_000_000, 1, false, 0, 10, 1_000_010],
    ]);
  });

  test('a debt as large as a number can be leaves it with its charges, and nothing else', () => {
    const clock = new ManualClock();
    const limiter = new RateLimiter({
      store: new MemoryStore({ clock }),
      policies: [{ name: 'p', quota: 'sliding-window-log 5/1m' }],
    });
    for (const verdict of [limiter.take('k'), limiter.take('k')]) {
      verdict.settle(Number.MAX_SAFE_INTEGER);
    }
    clock.advance(60_001);
    const admitted = Array.from({ length: 20 }, () => limiter.take('k').allowed);
    expect(admitted.filter(Boolean)).toHaveLength(5);
  });

  test('of debts as large as numbers can be, each holds for a window of its own', () => {
    const { at, force } = forced('sliding-window-log 5/1m');
    for (const ms of [0, 1_000]) force(ms, 1);
    for (const ms of [10_000, 20_000, 30_000]) force(ms, Number.MAX_SAFE_INTEGER);
    force(40_000, 3);
    expect(at(40_000, 2)).toMatchObject({ remaining: 0, retryAfterMs: 50_000, resetAtMs: 100_000 });
    expect(at(89_999, 2)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(at(90_000, 2)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test('of debts as large as numbers can be, one that is given back leaves the others', () => {
    const { store, charge, at, force } = forced('sliding-window-log 5/1m');
    for (const ms of [0, 1_000]) force(ms, Number.MAX_SAFE_INTEGER);
    store.refund([{ ...charge, cost: Number.MAX_SAFE_INTEGER, atMs: 0 }]);
    expect(at(60_999, 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    store.refund([{ ...charge, cost: Number.MAX_SAFE_INTEGER - 3, atMs: 1_000 }]);
    expect(at(60_999, 0)).toMatchObject({ remaining: 2 });
  });

  test('holds no charge that was given back', () => {
    let log = ChargeLog.empty;
    for (let i = 0; i < 1000; i += 1) log = log.add(0, i, 1).without(i, 1).log;
    expect(log.length).toBe(0);
    const two = log.add(0, 1, 2).add(0, 2, 3);
    expect(two.without(1, 1)).toMatchObject({ units: 1 });
    expect(two.without(1, 5).log.length).toBe(1);
    expect(two.without(3, 1)).toMatchObject({ units: 0 });
  });

  test('shares its charges with what it was made from, which stays as it was', () => {
    const before = ChargeLog.empty.add(0, 1, 1).add(0, 2, 1);
    before.add(1, 3, 7);
    const after = before.add(0, 4, 2);
    expect([before.length, before.timeAt(1), after.length, after.timeAt(2)]).toEqual([2, 2, 3, 4]);
  });
});

/** A subject that may be charged more than its limit. */
function forced(text: string) {
  const clock = new ManualClock(0);
  const store = new MemoryStore({ clock });
  const charge = { policy: 'p', key: 'k', quota: parseQuota(text) };
  const take = (ms: number, cost: number, mode: TakeMode): Decision => {
    clock.set(ms);
    return store.take([{ ...charge, cost }], { mode })[0] as Decision;
  };
  return {
    store,
    charge,
    at: (ms: number, cost: number) => take(ms, cost, 'take'),
    force: (ms: number, cost: number) => take(ms, cost, 'force'),
  };
}
