import { describe, expect, test } from '@jest/globals';
import { type Decision, MemoryStore, type QuotaInput, toQuota } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

const SUBJECT = { policy: 'p', key: 'k' };
const START = 60_000_000;

/** A subject whose clock starts with a whole window; times are since then. */
function subject(input: QuotaInput) {
  const clock = new ManualClock(START);
  const store = new MemoryStore({ clock });
  const quota = toQuota(input);
  return {
    take: (at: number, cost: number): Decision => {
      clock.set(START + at);
      return store.take([{ ...SUBJECT, quota, cost }])[0] as Decision;
    },
    force: (at: number, cost: number): Decision => {
      clock.set(START + at);
      return store.take([{ ...SUBJECT, quota, cost }], { mode: 'force' })[0] as Decision;
    },
    refund: (at: number, cost: number, takenAt: number): void => {
      clock.set(START + at);
      store.refund([{ ...SUBJECT, quota, cost, atMs: START + takenAt }]);
    },
  };
}

describe('units go back to where they were taken from', () => {
  test.each(['fixed-window 5/10s', 'fixed-window 5/10s align=first-request'])(
    'a window, while it runs: %s',
    (quota) => {
      const { take, refund } = subject(quota);
      take(0, 5);
      refund(9_999, 2, 0);
      expect(take(9_999, 0).remaining).toBe(2);
    },
  );

  test.each(['fixed-window 5/10s', 'fixed-window 5/10s align=first-request'])(
    'not a window that has ended: the next admits its limit and no more: %s',
    (quota) => {
      const { take, refund } = subject(quota);
      take(0, 5);
      for (let slow = 0; slow < 5; slow += 1) refund(10_000, 5, 0);
      expect(take(10_000, 5).allowed).toBe(true);
      for (let slow = 0; slow < 5; slow += 1) refund(10_001, 5, 0);
      expect(take(10_001, 1).allowed).toBe(false);
    },
  );

  test('the entries of that moment in a log, and no others', () => {
    const { take, refund } = subject('sliding-window-log 6/10s');
    take(0, 2);
    take(5_000, 1);
    take(5_000, 2);
    refund(6_000, 9, 5_000);
    expect(take(6_000, 0)).toMatchObject({ remaining: 4, resetAtMs: START + 10_000 });
    refund(6_000, 9, 4_999);
    expect(take(6_000, 0).remaining).toBe(4);
    refund(10_000, 2, 0);
    expect(take(10_000, 0).remaining).toBe(6);
  });

  test('both windows of a counter', () => {
    const { take, refund } = subject('10/10s');
    take(0, 8);
    take(15_000, 3);
    // floor(8 / 2) + 3 = 7.
    expect(take(15_000, 0).remaining).toBe(3);
    refund(15_000, 4, 0);
    expect(take(15_000, 0).remaining).toBe(5);
    refund(15_000, 2, 15_000);
    expect(take(15_000, 0).remaining).toBe(7);
    refund(15_000, 99, 0);
    expect(take(15_000, 0).remaining).toBe(9);
    refund(15_000, 99, -10_000);
    expect(take(15_000, 0).remaining).toBe(9);
  });

  test.each(['token-bucket 5 1/1s', 'leaky-bucket 5 1/1s'])(
    'a bucket, down to empty: %s',
    (quota) => {
      const { take, refund } = subject(quota);
      take(0, 5);
      refund(1_500, 2, 0);
      expect(take(1_500, 0)).toMatchObject({ remaining: 3, resetAtMs: START + 3_000 });
      refund(1_500, 99, 0);
      expect(take(1_500, 5).allowed).toBe(true);
      expect(take(1_500, 1)).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
    },
  );
});

describe('what was forced', () => {
  test.each([
    { quota: 'fixed-window 5/10s', left: [0, 0, 5], at: [0, 9_999, 10_000] },
    { quota: 'fixed-window 5/10s align=first-request', left: [0, 0, 5], at: [0, 9_999, 10_000] },
    { quota: 'sliding-window-log 5/10s', left: [0, 0, 5], at: [0, 9_999, 10_000] },
    // floor(8 * overlap / 10,000) of 5.
    { quota: '5/10s', left: [0, 0, 1], at: [0, 10_000, 15_000] },
    { quota: 'token-bucket 5 1/1s', left: [0, 0, 1], at: [0, 3_000, 4_000] },
    { quota: 'leaky-bucket 5 1/1s', left: [0, 0, 1], at: [0, 3_000, 4_000] },
  ])('takes a quota into debt, and the debt counts: $quota', ({ quota, left, at }) => {
    const { take, force } = subject(quota);
    expect(take(0, 2).allowed).toBe(true);
    expect(force(0, 6)).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0 });
    expect(take(0, 1).allowed).toBe(false);
    expect(at.map((ms) => take(ms, 0).remaining)).toEqual(left);
  });

  test('is told of in the wait', () => {
    const { take, force } = subject('token-bucket 5 1/1s');
    force(0, 100);
    expect(take(0, 1)).toMatchObject({ retryAfterMs: 96_000, resetAtMs: START + 100_000 });
    expect(take(95_999, 1).allowed).toBe(false);
    expect(take(96_000, 1).allowed).toBe(true);
  });

  test('can be given back like anything else', () => {
    const { take, force, refund } = subject('sliding-window-log 5/10s');
    const { atMs } = force(3, 100);
    expect(atMs).toBe(START + 3);
    refund(4, 98, 3);
    expect(take(4, 0).remaining).toBe(3);
  });

  test('on a limit of 0 is admitted too', () => {
    const { take, force } = subject('fixed-window 0/10s');
    expect(force(0, 1)).toMatchObject({ allowed: true, remaining: 0 });
    expect(take(0, 1).allowed).toBe(false);
  });
});

test('what was never taken can be given back, to no effect', () => {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const charge = { ...SUBJECT, quota: toQuota('5/10s'), cost: 3 };
  store.refund([{ ...charge, atMs: clock.now() }]);
  expect(store.size).toBe(0);
  expect(store.take([charge])[0]?.remaining).toBe(2);
  store.refund([{ ...charge, key: 'another', atMs: clock.now() }]);
  expect(store.take([{ ...charge, cost: 0 }])[0]?.remaining).toBe(2);
});
