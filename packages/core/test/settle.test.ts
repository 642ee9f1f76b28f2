import { describe, expect, test } from '@jest/globals';
import { type FloodgateEvent, MemoryStore, RateLimiter } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

function setUp() {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const limiter = new RateLimiter({
    store,
    policies: [
      { name: 'requests', quota: 'sliding-window-log 10/1m' },
      { name: 'tokens', quota: 'token-bucket 1000 10/1s' },
    ],
  });
  const left = (key = 'k') =>
    limiter.peek(key, { cost: 0 }).decisions.map(({ remaining }) => remaining);
  const take = (tokens: number) =>
    limiter.take([
      { policy: 'requests', key: 'k' },
      { policy: 'tokens', key: 'k', cost: tokens },
    ]);
  return { clock, store, limiter, left, take };
}

describe('settling replaces the cost that was taken by the true one', () => {
  test('which gives back what was too much', () => {
    const { take, left } = setUp();
    const verdict = take(500);
    expect(left()).toEqual([9, 500]);
    verdict.settle({ tokens: 120 });
    expect(left()).toEqual([9, 880]);
  });

  test('and charges what was too little, even into debt', () => {
    const { take, left, limiter } = setUp();
    const verdict = take(500);
    verdict.settle({ tokens: 1_200 });
    expect(left()).toEqual([9, 0]);
    const { retryAfterMs } = limiter.take([{ policy: 'tokens', key: 'k' }]);
    expect(retryAfterMs).toBe(20_100);
  });

  test('of every policy, where it is one number', () => {
    const { limiter, left } = setUp();
    limiter.take('k', { cost: 4 }).settle(1);
    expect(left()).toEqual([9, 999]);
    limiter.take('k', { cost: 1 }).settle(3);
    expect(left()).toEqual([6, 996]);
    limiter.take('k', { cost: 2 }).settle(0);
    expect(left()).toEqual([6, 996]);
  });

  test('of each of several keys of one policy', () => {
    const { limiter, left } = setUp();
    const verdict = limiter.take([
      { policy: 'requests', key: 'a', cost: 5 },
      { policy: 'requests', key: 'b', cost: 5 },
    ]);
    verdict.settle(1);
    expect([left('a')[0], left('b')[0]]).toEqual([9, 9]);
  });

  test('once for each policy, whatever comes later', () => {
    const { take, left } = setUp();
    const verdict = take(500);
    verdict.settle({ tokens: 100 });
    verdict.settle({ tokens: 300 });
    expect(left()).toEqual([9, 900]);
    verdict.settle(0);
    expect(left()).toEqual([10, 900]);
    verdict.settle(9);
    expect(left()).toEqual([10, 900]);
  });

  test('where it was what was taken, nothing changes, and that is settled', () => {
    const { take, left } = setUp();
    const verdict = take(500);
    verdict.settle({ tokens: 500 });
    verdict.settle({ tokens: 0 });
    expect(left()).toEqual([9, 500]);
  });

  test('to the place that it was taken from: not to a later window', () => {
    const { clock, take, left } = setUp();
    const verdict = take(500);
    clock.advance(60_000);
    take(0);
    verdict.settle(0);
    expect(left()).toEqual([9, 1000]);
  });

  test('and answers at once', () => {
    const { take } = setUp();
    expect(take(500).settle(1)).toBeUndefined();
  });
});

describe('nothing is settled of', () => {
  test('a verdict that was denied', () => {
    const { take, left } = setUp();
    take(900);
    const denied = take(200);
    expect(denied.allowed).toBe(false);
    denied.settle(0);
    denied.settle({ tokens: 700 });
    expect(left()).toEqual([9, 100]);
  });

  test('an advisory charge that had no room', () => {
    const { limiter, left } = setUp();
    const verdict = limiter.take([
      { policy: 'requests', key: 'k' },
      { policy: 'tokens', key: 'k', cost: 2_000, advisory: true },
    ]);
    expect(verdict.allowed).toBe(true);
    verdict.settle({ tokens: 10 });
    expect(left()).toEqual([9, 1000]);
  });
});

describe('a cost that is none', () => {
  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, undefined])('%p', (cost) => {
    const { take, left } = setUp();
    const verdict = take(500);
    const invalid = expect.objectContaining({ code: 'FLOODGATE_INVALID_CHARGE' });
    expect(() => verdict.settle(cost as number)).toThrow(invalid);
    expect(() => verdict.settle({ requests: 0, tokens: cost as number })).toThrow(invalid);
    expect(left()).toEqual([9, 500]);
    verdict.settle({ tokens: 100 });
    expect(left()).toEqual([9, 900]);
  });

  test('or is one of a policy that was not asked', () => {
    const { take } = setUp();
    expect(() => take(1).settle({ token: 5 })).toThrow(
      expect.objectContaining({
        code: 'FLOODGATE_UNKNOWN_POLICY',
        message: expect.stringContaining('`requests`, `tokens`'),
      }),
    );
  });
});

describe('with a store that answers in promises', () => {
  function remote() {
    const clock = new ManualClock();
    const store = new FailingStore(new MemoryStore({ clock }));
    const events: FloodgateEvent[] = [];
    const limiter = new RateLimiter({
      store,
      policies: [{ name: 'tokens', quota: 'token-bucket 1000 10/1s' }],
      onEvent: (event) => events.push(event),
    });
    const left = async () => (await limiter.peek('k', { cost: 0 })).tightest.remaining;
    return { store, limiter, events, left };
  }

  test('it is settled when the promise is', async () => {
    const { limiter, left } = remote();
    const verdict = await limiter.take('k', { cost: 500 });
    await verdict.settle(100);
    expect(await left()).toBe(900);
    await verdict.settle(700);
    expect(await left()).toBe(900);
  });

  test.each([100, 700])(
    'a failure is reported, and never thrown: settling %d of 500',
    async (cost) => {
      const { store, limiter, events, left } = remote();
      const verdict = await limiter.take('k', { cost: 500 });
      const error = new Error('gone');
      store.failCall(1, error);
      await expect(verdict.settle(cost)).resolves.toBeUndefined();
      expect(events).toMatchObject([{ code: 'settle-failed', error }]);
      expect(await left()).toBe(500);
    },
  );

  test('a failure at once is reported too', () => {
    const clock = new ManualClock();
    const store = new FailingStore(new MemoryStore({ clock }), { remote: false });
    const events: string[] = [];
    const limiter = new RateLimiter({
      store,
      policies: [{ name: 'a', quota: '10/1m' }],
      onEvent: ({ code }) => events.push(code),
    });
    const verdict = limiter.take('k') as Exclude<ReturnType<typeof limiter.take>, Promise<unknown>>;
    store.fail();
    expect(verdict.settle(0)).toBeUndefined();
    expect(events).toEqual(['settle-failed']);
  });
});
