import { describe, expect, test } from '@jest/globals';
import { type Decision, MemoryStore, type QuotaInput, toQuota } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

const HOUR = 3_600_000;
const START = 1_000_000 * HOUR;

/** Each holds one window, or one time to fill, of 60 s. */
const quotas = [
  'fixed-window 6/1m',
  'fixed-window 6/1m align=first-request',
  'sliding-window-log 6/1m',
  'sliding-window-counter 6/1m',
  'token-bucket 6 1/10s',
  'leaky-bucket 6 1/10s',
];

function subject(input: QuotaInput) {
  const clock = new ManualClock(START);
  const store = new MemoryStore({ clock });
  const quota = toQuota(input);
  const take = (at: number, cost: number): Decision => {
    clock.set(START + at);
    return store.take([{ policy: 'p', key: 'k', quota, cost }])[0] as Decision;
  };
  return { clock, store, take };
}

describe.each(quotas)('%s', (quota) => {
  test('a step back by less than a window: time stands still until the clock is there again', () => {
    const { take } = subject(quota);
    expect(take(0, 6).allowed).toBe(true);
    for (const back of [1, 500, 30_000, 60_000]) {
      const { allowed, atMs, retryAfterMs } = take(-back, 1);
      expect({ back, allowed, atMs }).toEqual({ back, allowed: false, atMs: START });
      expect(retryAfterMs).toBeLessThanOrEqual(2 * 60_000);
    }
  });

  test.each([
    { back: HOUR, windows: 2 },
    { back: 24 * HOUR, windows: 2 },
    { back: 365 * 24 * HOUR, windows: 2 },
    // The clock comes near the last charge again before two windows are over, and then that charge counts as it did.
    { back: 60_001, windows: 3 },
    { back: 120_000, windows: 4 },
    { back: 179_000, windows: 4 },
  ])(
    'a step back by $back ms gives nothing away, and keeps nobody out for more than $windows windows',
    ({ back, windows }) => {
      const { take } = subject(quota);
      take(0, 6);
      const denied = take(-back, 1);
      expect(denied.allowed).toBe(false);
      expect(denied.atMs).toBe(START - back);
      expect(denied.retryAfterMs).toBeLessThanOrEqual(2 * 60_000);

      // However often it asks meanwhile.
      let at = -back;
      while (!take(at, 1).allowed) at += 500;
      expect(at + back).toBeLessThanOrEqual(windows * 60_000);
    },
  );

  test('one that asks only when it was told to is admitted then', () => {
    const { take } = subject(quota);
    take(0, 6);
    take(-HOUR, 0);
    const { retryAfterMs } = take(-HOUR, 1);
    expect(take(-HOUR + 2 * 60_000, 1).allowed).toBe(true);
    expect(retryAfterMs).toBeLessThanOrEqual(2 * 60_000);
  });

  test('what had room has room: the units in use count as one charge, made now', () => {
    const { take } = subject(quota);
    take(0, 2);
    take(0, 1);
    expect(take(-HOUR, 1)).toMatchObject({ allowed: true, remaining: 2, atMs: START - HOUR });
  });

  test('a clock that was hours ahead and is right again does no lasting harm', () => {
    const { take } = subject(quota);
    take(3 * HOUR, 6);
    expect(take(0, 1).allowed).toBe(false);
    expect(take(2 * 60_000, 1).allowed).toBe(true);
    expect(take(2 * 60_000, 1).atMs).toBe(START + 2 * 60_000);
  });

  test('a jump ahead needs no timer: what has run out has run out', () => {
    const { take } = subject(quota);
    take(0, 6);
    expect(take(2 * 60_000 + 7, 6).allowed).toBe(true);
  });

  test('a step back gives nothing away to a subject that another, new one might push out', () => {
    const { clock, store, take } = subject(quota);
    take(0, 6);
    // So long that it is idle by now, and whoever comes now might take its place.
    clock.set(START + 2 * 60_000);
    for (const key of ['a', 'b', 'c']) {
      store.take([{ policy: 'p', key, quota: toQuota(quota), cost: 1 }]);
    }
    expect(take(1_000, 6).allowed).toBe(false);
  });
});

test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, undefined, '0'])(
  'a clock that says %p is an error, not a decision',
  (now) => {
    const store = new MemoryStore({ clock: { now: () => 1_000 } });
    const broken = new MemoryStore({ clock: { now: () => now as number } });
    const charge = { policy: 'p', key: 'k', quota: toQuota('1/1m'), cost: 1 };
    expect(store.take([charge])[0]?.allowed).toBe(true);
    expect(() => broken.take([charge])).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_INVALID_OPTION' }),
    );
  },
);
