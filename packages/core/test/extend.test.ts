import { MemoryStore, RateLimiter } from '@floodgate/core';
import { FailingStore, ManualClock } from '@floodgate/core/testing';
import { describe, expect, test } from '@jest/globals';

const first = { name: 'all', quota: 'fixed-window 3/1m' };
const second = { name: 'some', quota: 'fixed-window 1/1m' };

describe('a limiter that extends another', () => {
  test('meets the policies of both, on one store', () => {
    const limiter = new RateLimiter({ policies: [first] });
    const extended = limiter.extend([second]);
    const left = ({ decisions }: { decisions: readonly { remaining: number }[] }): number[] =>
      decisions.map(({ remaining }) => remaining);
    expect(left(extended.take('k'))).toEqual([2, 0]);
    expect(extended.take('k').allowed).toBe(false);
    expect(left(limiter.take('k'))).toEqual([1]);
    extended.reset('k');
    expect(left(limiter.peek('k'))).toEqual([2]);
  });

  test('may have policies on other stores', () => {
    const store = new MemoryStore();
    const limiter = new RateLimiter({ policies: [first] });
    const extended = limiter.extend([{ ...second, store }]);
    expect(extended.take('k').allowed).toBe(true);
    expect(store.size).toBe(1);
    expect(extended.take('k').allowed).toBe(false);
    // What the first store took is given back where the other denies.
    expect(limiter.peek('k', { cost: 0 }).tightest.remaining).toBe(2);
  });

  test('shares what stands in for a store that fails, and tells of it once', async () => {
    const store = new FailingStore(new MemoryStore({ clock: new ManualClock(0) }));
    store.fail();
    const events: string[] = [];
    const limiter = new RateLimiter({
      store,
      policies: [first],
      onEvent: ({ code }) => events.push(code),
    });
    const one = limiter.extend([{ ...second, name: 'one' }]);
    const two = limiter.extend([{ ...second, name: 'two' }]);
    const admitted: boolean[] = [];
    for (const each of [one, two, limiter, limiter]) admitted.push((await each.take('k')).allowed);
    expect(admitted).toEqual([true, true, true, false]);
    expect(events).toEqual(['degraded']);
  });

  test('leaves the store open when it is closed', () => {
    const limiter = new RateLimiter({ policies: [first] });
    limiter.extend([second]).close();
    expect(limiter.take('k').allowed).toBe(true);
  });

  test('refuses a name that is taken', () => {
    const limiter = new RateLimiter({ policies: [first] });
    expect(() => limiter.extend([{ ...second, name: 'ALL' }])).toThrow(/`policies`.*differ/);
  });
});
