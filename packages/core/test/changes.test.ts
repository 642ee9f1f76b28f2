import { describe, expect, test } from '@jest/globals';
import { type Decision, MemoryStore, type QuotaInput, toQuota } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

// A quota may change from call to call: what was used stays used.

const START = 60_000_000;

function subject() {
  const clock = new ManualClock(START);
  const store = new MemoryStore({ clock });
  return (at: number, quota: QuotaInput, cost: number): Decision => {
    clock.set(START + at);
    const charge = { policy: 'p', key: 'k', quota: toQuota(quota), cost };
    return store.take([charge])[0] as Decision;
  };
}

describe('a limit that changes', () => {
  test.each(['fixed-window', 'sliding-window-log', 'sliding-window-counter'])(
    '%s: the new one holds at once, and what was used counts',
    (algorithm) => {
      const take = subject();
      take(0, `${algorithm} 100/1m`, 1);
      expect(take(1, `${algorithm} 10/1m`, 1)).toMatchObject({ limit: 10, remaining: 8 });
      expect(take(2, `${algorithm} 1/1m`, 1)).toMatchObject({
        limit: 1,
        remaining: 0,
        allowed: false,
      });
      expect(take(3, `${algorithm} 100/1m`, 1)).toMatchObject({ limit: 100, remaining: 97 });
    },
  );

  test.each([
    ['token-bucket 100 1/1s', 'token-bucket 10 1/1s', 'token-bucket 10 5/1s'],
    ['leaky-bucket 100 1/1s', 'leaky-bucket 10 1/1s', 'leaky-bucket 10 5/1s'],
  ])(
    '%s to %s: units in use stay in use, and come back at the new rate',
    (before, after, faster) => {
      const take = subject();
      take(0, before, 20);
      expect(take(0, after, 1)).toMatchObject({ limit: 10, remaining: 0, retryAfterMs: 11_000 });
      expect(take(0, faster, 1)).toMatchObject({ limit: 10, remaining: 0, retryAfterMs: 2_200 });
      expect(take(2_200, faster, 1).allowed).toBe(true);
    },
  );
});

describe('a window, interval or algorithm that changes', () => {
  test('full by a window of 60 s, then of 10 s: admitted at most 10 s later, however often it asks', () => {
    for (const [before, after] of [
      ['fixed-window 5/1m', 'fixed-window 5/10s align=first-request'],
      ['sliding-window-log 5/1m', 'sliding-window-log 5/10s'],
      ['sliding-window-log 5/1m', 'token-bucket 5 5/10s'],
    ] as const) {
      const take = subject();
      take(0, before, 5);
      expect(take(5_000, after, 5)).toMatchObject({ allowed: false, retryAfterMs: 10_000 });
      for (let at = 5_500; at < 15_000; at += 500) expect(take(at, after, 5).allowed).toBe(false);
      expect(take(15_000, after, 5).allowed).toBe(true);
    }
  });

  test.each([
    'fixed-window 10/20s',
    'fixed-window 10/20s align=first-request',
    'sliding-window-log 10/20s',
    'sliding-window-counter 10/20s',
    'token-bucket 10 1/2s',
    'leaky-bucket 10 1/2s',
  ])('the units in use count as one charge, made now, by %s', (after) => {
    for (const before of [
      'fixed-window 8/10s',
      'sliding-window-log 8/10s',
      'sliding-window-counter 8/10s',
      'token-bucket 8 1/1s',
      'leaky-bucket 8 1/1s',
    ]) {
      const take = subject();
      take(0, before, 2);
      take(0, before, 1);
      expect(take(0, after, 1)).toMatchObject({ allowed: true, remaining: 6 });
    }
  });

  test('units in use above the new limit count as the limit', () => {
    const take = subject();
    take(0, 'sliding-window-log 100/1m', 90);
    expect(take(0, 'token-bucket 10 1/1s', 1)).toMatchObject({ remaining: 0, retryAfterMs: 1_000 });
  });

  test('units that no longer count by the old window are not carried over', () => {
    const take = subject();
    take(0, 'sliding-window-log 10/1s', 4);
    take(900, 'sliding-window-log 10/1s', 2);
    expect(take(1_000, 'fixed-window 10/1m', 1)).toMatchObject({ remaining: 7 });
  });

  test('a part of a unit in a bucket counts as a unit', () => {
    const take = subject();
    take(0, 'token-bucket 10 1/1s', 1);
    take(500, 'token-bucket 10 1/1s', 1);
    expect(take(500, 'sliding-window-log 10/1m', 1)).toMatchObject({ remaining: 7 });
  });

  test('nothing in use begins no window: it starts at the first request by the new quota', () => {
    const clock = new ManualClock(START);
    const store = new MemoryStore({ clock });
    const bucket = { policy: 'p', key: 'k', quota: toQuota('token-bucket 3 2/7ms'), cost: 1 };
    const window = { ...bucket, quota: toQuota('fixed-window 2/50ms align=first-request') };
    store.take([bucket]);
    store.refund([{ ...bucket, atMs: START }]);
    store.take([{ ...window, cost: 3 }]);
    clock.advance(1);
    expect(store.take([window])[0]?.resetAtMs).toBe(START + 51);
  });

  test('asking with a peek or a cost of 0 changes nothing of the old one', () => {
    const take = subject();
    take(0, 'sliding-window-log 10/10s', 4);
    expect(take(5_000, 'sliding-window-log 10/1m', 0).remaining).toBe(6);
    expect(take(10_000, 'sliding-window-log 10/10s', 0).remaining).toBe(10);
  });

  test('a shape that changes is no change', () => {
    const take = subject();
    take(0, 'leaky-bucket 10 1/1s', 4);
    expect(take(0, 'leaky-bucket 10 1/1s shape=false', 1)).toMatchObject({
      remaining: 5,
      delayMs: 0,
    });
    expect(take(0, 'leaky-bucket 10 1/1s', 1)).toMatchObject({ remaining: 4, delayMs: 5_000 });
  });
});
