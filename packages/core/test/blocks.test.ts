import { describe, expect, test } from '@jest/globals';
import {
  type Decision,
  MemoryStore,
  type QuotaInput,
  type TakeMode,
  toQuota,
} from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

const SUBJECT = { policy: 'p', key: 'k' };

/** A subject whose clock starts at 0 with a whole window. */
function subject(input: QuotaInput) {
  const clock = new ManualClock(60_000_000);
  const store = new MemoryStore({ clock });
  const quota = toQuota(input);
  const take = (cost: number, mode: TakeMode = 'take'): Decision =>
    store.take([{ ...SUBJECT, quota, cost }], { mode })[0] as Decision;
  const at = (ms: number): void => clock.set(60_000_000 + ms);
  const block = (ms: number): void => store.block([SUBJECT], ms);
  return { clock, store, quota, take, at, block };
}

describe('a quota with blockFor', () => {
  const quota = 'fixed-window 3/1m align=first-request block=60s';

  test('the denial starts the block, and one record decides, whatever the count does', () => {
    const { take, at } = subject(quota);
    for (const ms of [0, 10_000, 20_000]) {
      at(ms);
      expect(take(1).allowed).toBe(true);
    }
    const waits = [30_000, 40_000, 50_000, 60_000, 70_000, 89_999].map((ms) => {
      at(ms);
      const { allowed, blocked, remaining, retryAfterMs } = take(1);
      expect({ allowed, blocked, remaining }).toEqual({
        allowed: false,
        blocked: true,
        remaining: 0,
      });
      return retryAfterMs;
    });
    expect(waits).toEqual([60_000, 50_000, 40_000, 30_000, 20_000, 1]);
    at(90_000);
    expect(take(1)).toMatchObject({ allowed: true, blocked: false, remaining: 2 });
  });

  test('attempts while it lasts do not prolong it', () => {
    const { take, at } = subject(quota);
    take(3);
    expect(take(1).retryAfterMs).toBe(60_000);
    at(30_000);
    expect(take(1).retryAfterMs).toBe(30_000);
    at(60_000);
    expect(take(1).allowed).toBe(true);
  });

  test('the wait is the later of the end of the block and what the quota itself would say', () => {
    const { take, at } = subject('fixed-window 3/1m align=first-request block=1s');
    take(3);
    expect(take(1)).toMatchObject({ retryAfterMs: 60_000, resetAtMs: 60_060_000, blocked: true });
    at(59_500);
    expect(take(1)).toMatchObject({ retryAfterMs: 1_000, resetAtMs: 60_060_500, blocked: true });
  });

  test('a cost that could never be admitted starts none, nor does a cost of 0, nor a peek', () => {
    const { take } = subject(quota);
    expect(take(4)).toMatchObject({ allowed: false, blocked: false, remaining: 3 });
    take(3);
    expect(take(0)).toMatchObject({ allowed: true, blocked: false });
    expect(take(1, 'peek')).toMatchObject({ allowed: false, blocked: true, retryAfterMs: 60_000 });
    expect(take(0)).toMatchObject({ allowed: true, blocked: false });
  });

  test('a group that another policy denies starts none here', () => {
    const { store, quota: blocking } = subject(quota);
    const other = { policy: 'other', key: 'k', quota: toQuota('1/1m'), cost: 2 };
    const [mine] = store.take([{ ...SUBJECT, quota: blocking, cost: 3 }, other]);
    expect(mine).toMatchObject({ allowed: true, blocked: false, remaining: 3 });
    expect(store.take([{ ...SUBJECT, quota: blocking, cost: 3 }])[0]?.allowed).toBe(true);
  });

  test('of two that deny together each starts its own', () => {
    const { store, quota: blocking } = subject(quota);
    const charges = ['one', 'two'].map((policy) => ({
      policy,
      key: 'k',
      quota: blocking,
      cost: 3,
    }));
    store.take(charges);
    expect(store.take(charges).map(({ blocked }) => blocked)).toEqual([true, true]);
    expect(store.take(charges.map((charge) => ({ ...charge, cost: 0 })))).toMatchObject([
      { allowed: false, blocked: true },
      { allowed: false, blocked: true },
    ]);
  });
});

describe('a subject that is blocked', () => {
  test('is denied everything, a cost of 0 too, until the last millisecond', () => {
    const { take, at, block } = subject('10/1m');
    block(1500);
    const answer = { allowed: false, blocked: true, remaining: 0, retryAfterMs: 1500, delayMs: 0 };
    expect(take(1)).toMatchObject({ ...answer, resetAtMs: 60_001_500 });
    expect(take(0)).toMatchObject(answer);
    at(1499);
    expect(take(1)).toMatchObject({ ...answer, retryAfterMs: 1 });
    at(1500);
    expect(take(1)).toMatchObject({ allowed: true, blocked: false, remaining: 9 });
  });

  test('is told never for a cost that it could never have', () => {
    const { take, block } = subject('10/1m');
    block(1500);
    expect(take(11)).toMatchObject({ blocked: true, retryAfterMs: Number.POSITIVE_INFINITY });
  });

  test('keeps its counts: 0 lifts the block and no more', () => {
    const { take, block } = subject('10/1m');
    take(4);
    block(3_600_000);
    block(0);
    expect(take(0)).toMatchObject({ allowed: true, blocked: false, remaining: 6 });
  });

  test('is blocked from now on for as long as was said last, shorter or longer', () => {
    const { take, at, block } = subject('10/1m');
    block(3_600_000);
    at(1000);
    block(500);
    expect(take(1).retryAfterMs).toBe(500);
    block(10_000);
    expect(take(1).retryAfterMs).toBe(10_000);
  });

  test('is charged what is forced on it, and stays blocked', () => {
    const { take, block } = subject('10/1m');
    block(1000);
    expect(take(4, 'force')).toMatchObject({
      allowed: true,
      blocked: true,
      remaining: 0,
      retryAfterMs: 0,
    });
    expect(take(1)).toMatchObject({ allowed: false, retryAfterMs: 1000 });
    block(0);
    expect(take(0).remaining).toBe(6);
  });

  test('stays blocked when something is given back, and is free after a reset', () => {
    const { store, quota, take, block } = subject('10/1m');
    const { atMs } = take(4);
    block(1000);
    store.refund([{ ...SUBJECT, quota, cost: 4, atMs }]);
    expect(take(1)).toMatchObject({ allowed: false, blocked: true });
    store.reset([SUBJECT]);
    expect(take(1)).toMatchObject({ allowed: true, remaining: 9 });
  });

  test('is charged nothing by attempts, even where its quota has changed meanwhile', () => {
    const { store, take, block } = subject('sliding-window-log 10/1s');
    take(3);
    block(100);
    const quota = toQuota('sliding-window-log 10/2s');
    expect(store.take([{ ...SUBJECT, quota, cost: 4 }])[0]?.allowed).toBe(false);
    block(0);
    expect(store.take([{ ...SUBJECT, quota, cost: 0 }])[0]?.remaining).toBe(7);
  });

  test('and was never seen before is blocked all the same', () => {
    const { store, take, block, at } = subject('10/1m');
    block(1000);
    expect(store.size).toBe(1);
    expect(take(1).blocked).toBe(true);
    at(1000);
    expect(take(10).allowed).toBe(true);
  });
});

test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '10', null])(
  'a block of %p is refused',
  (duration) => {
    const { store } = subject('10/1m');
    expect(() => store.block([SUBJECT], duration as number)).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_INVALID_OPTION' }),
    );
  },
);
