import { describe, expect, test } from '@jest/globals';
import {
  type FloodgateEvent,
  MemoryStore,
  type Policy,
  RateLimiter,
  type RateLimiterOptions,
} from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

function setUp(
  policies: readonly Policy<FailingStore>[],
  options: Partial<RateLimiterOptions<FailingStore>> = {},
) {
  const clock = new ManualClock();
  const store = new FailingStore(new MemoryStore({ clock }), { remote: false });
  const events: FloodgateEvent[] = [];
  const limiter = new RateLimiter({
    store,
    policies,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const take = async (cost = 1) => limiter.take('k', { cost });
  return { clock, store, limiter, events, take };
}

const gone = new Error('ECONNREFUSED');

describe('while a store fails, by onStoreError', () => {
  test("'local', the default: a memory store takes over, and forgets nothing meanwhile", async () => {
    const { store, take } = setUp([{ name: 'a', quota: '2/1m' }]);
    await take(2);
    store.fail(gone);
    const verdicts = [await take(), await take(), await take()];
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(verdicts[0]).toMatchObject({
      bound: Number.POSITIVE_INFINITY,
      degraded: { rule: 'local', error: { code: 'FLOODGATE_STORE_FAILED', cause: gone } },
    });
    expect(verdicts[2]?.retryAfterMs).toBe(60_001);
  });

  test("'allow': everything passes, and is told to have its whole limit", async () => {
    const { clock, store, take } = setUp([{ name: 'a', quota: 'leaky-bucket 2 1/1s' }], {
      onStoreError: 'allow',
    });
    store.fail(gone);
    for (let i = 0; i < 5; i += 1) {
      const verdict = await take();
      expect(verdict).toMatchObject({ allowed: true, delayMs: 0, degraded: { rule: 'allow' } });
      expect(verdict.bound).toBe(Number.POSITIVE_INFINITY);
      expect(verdict.tightest).toMatchObject({
        limit: 2,
        remaining: 2,
        retryAfterMs: 0,
        resetAtMs: clock.now(),
        atMs: clock.now(),
      });
    }
  });

  test("'deny': nothing passes, with a wait that is a number", async () => {
    const { clock, store, take } = setUp([{ name: 'a', quota: '2/1m' }], { onStoreError: 'deny' });
    store.fail(gone);
    const verdict = await take();
    expect(verdict).toMatchObject({ allowed: false, retryAfterMs: 1000, bound: 0 });
    expect(verdict.degraded).toMatchObject({ rule: 'deny' });
    expect(verdict.tightest).toMatchObject({
      ...{ policy: 'a', key: 'k', cost: 1, advisory: false },
      ...{ allowed: false, limit: 2, remaining: 0, retryAfterMs: 1000, delayMs: 0, blocked: false },
      ...{ resetAtMs: clock.now() + 1000, atMs: clock.now() },
    });
  });
});

describe('each policy may have a rule of its own', () => {
  test('and the strictest of those that decided is told', async () => {
    const { store, take } = setUp([
      { name: 'loose', quota: '5/1m', onStoreError: 'allow' },
      { name: 'local', quota: '1/1m' },
    ]);
    store.fail(gone);
    expect(await take()).toMatchObject({ allowed: true, degraded: { rule: 'local' } });
    const denied = await take();
    expect(denied).toMatchObject({ allowed: false, degraded: { rule: 'local' } });
    expect(denied.tightest.policy).toBe('local');
  });

  test('one that denies denies the group: a local one is not charged, and says what it has left', async () => {
    const { store, limiter, take } = setUp([
      { name: 'strict', quota: '5/1m', onStoreError: 'deny' },
      { name: 'local', quota: '3/1m' },
    ]);
    store.fail(gone);
    for (let i = 0; i < 5; i += 1) {
      const verdict = await take();
      expect(verdict).toMatchObject({ allowed: false, degraded: { rule: 'deny' } });
      expect(verdict.decision('local')).toMatchObject({ allowed: true, remaining: 3 });
    }
    expect(await limiter.peek('k')).toMatchObject({ allowed: false });
  });

  test('an advisory charge of one that denies denies nobody', async () => {
    const { store, limiter } = setUp([
      { name: 'strict', quota: '5/1m', onStoreError: 'deny' },
      { name: 'local', quota: '3/1m' },
    ]);
    store.fail(gone);
    const verdict = await limiter.take([
      { policy: 'strict', key: 'k', advisory: true },
      { policy: 'local', key: 'k' },
    ]);
    expect(verdict.allowed).toBe(true);
    expect(verdict.decision('local')?.remaining).toBe(2);
  });
});

describe("under 'local' each of several instances takes its part", () => {
  test.each([
    ['fixed-window 100/1m', 3, 34],
    ['sliding-window-log 100/1m', 4, 25],
    ['100/1m', 7, 15],
    ['1/1m', 10, 1],
    ['0/1m', 10, 0],
    ['token-bucket 100 10/1s', 3, 34],
  ])('%s of %d instances: %d', async (quota, instances, limit) => {
    const { store, take } = setUp([{ name: 'a', quota }], { instances });
    store.fail(gone);
    expect((await take(0)).tightest).toMatchObject({ limit, remaining: limit });
  });

  test('of a bucket the rate is kept and the interval multiplied', async () => {
    const { clock, store, take } = setUp([{ name: 'a', quota: 'token-bucket 100 10/1s' }], {
      instances: 4,
    });
    store.fail(gone);
    expect((await take(25)).tightest).toMatchObject({ limit: 25, remaining: 0 });
    expect((await take()).retryAfterMs).toBe(400);
    clock.advance(400);
    expect((await take()).allowed).toBe(true);
  });

  test('while the store answers, the limit is whole', async () => {
    const { take } = setUp([{ name: 'a', quota: '100/1m' }], { instances: 4 });
    expect((await take(100)).allowed).toBe(true);
  });
});

describe('events', () => {
  test('a failure is told once, and so is that it is over', async () => {
    const { clock, store, events, take } = setUp([{ name: 'a', quota: '100/1m' }]);
    store.fail(gone);
    await Promise.all([take(), take(), take()]);
    await take();
    expect(events).toMatchObject([
      {
        code: 'degraded',
        message: expect.stringMatching(/ECONNREFUSED.*local/),
        error: { code: 'FLOODGATE_STORE_FAILED', cause: gone },
      },
    ]);
    store.recover();
    await take();
    await take();
    expect(events.map(({ code }) => code)).toEqual(['degraded', 'recovered']);
    clock.advance(60_000);
    store.fail(gone);
    await take();
    store.recover();
    await take();
    expect(events.map(({ code }) => code)).toEqual([
      'degraded',
      'recovered',
      'degraded',
      'recovered',
    ]);
  });

  test('name the rules that decide', async () => {
    const { store, events, take } = setUp([
      { name: 'a', quota: '100/1m', onStoreError: 'allow' },
      { name: 'b', quota: '100/1m', onStoreError: 'deny' },
    ]);
    store.fail(gone);
    await take();
    expect(events[0]?.message).toMatch(/allow, deny/);
  });

  test.each([undefined, null, 'down', 0, { code: 'ECONNRESET' }])(
    'a store may throw anything: %p',
    async (thrown) => {
      const { store, take } = setUp([{ name: 'a', quota: '100/1m' }]);
      store.fail(thrown);
      expect((await take()).degraded?.error).toMatchObject({ code: 'FLOODGATE_STORE_FAILED' });
    },
  );
});

describe('a verdict is settled on the store that made it', () => {
  test('made by the store that took over, it is settled there', async () => {
    const { store, take } = setUp([{ name: 'a', quota: '10/1m' }]);
    store.fail(gone);
    const verdict = await take(8);
    await verdict.settle(3);
    expect((await take(0)).tightest.remaining).toBe(7);
    store.recover();
    expect((await take(0)).tightest.remaining).toBe(10);
  });

  test('also when the store is back by then', async () => {
    const { store, take } = setUp([{ name: 'a', quota: '10/1m' }]);
    store.fail(gone);
    const verdict = await take(8);
    store.recover();
    await verdict.settle(20);
    expect((await take(0)).tightest.remaining).toBe(10);
  });

  test('made by the store itself, a failure of it is reported and what was taken stands', async () => {
    const { store, events, take } = setUp([{ name: 'a', quota: '10/1m' }]);
    const verdict = await take(8);
    store.fail(gone);
    await verdict.settle(1);
    expect(events).toMatchObject([{ code: 'settle-failed', error: gone }]);
    store.recover();
    expect((await take(0)).tightest.remaining).toBe(2);
  });

  test('made by a rule, there is nothing to settle', async () => {
    const { store, events, take } = setUp([{ name: 'a', quota: '10/1m' }], {
      onStoreError: 'allow',
    });
    store.fail(gone);
    const verdict = await take(8);
    store.recover();
    await verdict.settle(0);
    await verdict.settle({ a: 100 });
    expect((await take(0)).tightest.remaining).toBe(10);
    expect(events.map(({ code }) => code)).toEqual(['degraded', 'recovered']);
  });
});

test('a block or a reset while a store fails is an error, and holds for the one that took over', async () => {
  const { store, limiter, take } = setUp([{ name: 'a', quota: '10/1m' }]);
  store.fail(gone);
  await take(10);
  const failed = expect.objectContaining({ code: 'FLOODGATE_STORE_FAILED', cause: gone });
  expect(() => limiter.reset('k')).toThrow(failed);
  expect((await take()).allowed).toBe(true);
  expect(() => limiter.block('k', '1h')).toThrow(failed);
  expect((await take()).tightest.blocked).toBe(true);
});

test('a store behind a network answers in promises, also while it fails', async () => {
  const store = new FailingStore(new MemoryStore());
  const limiter = new RateLimiter({
    store,
    policies: [{ name: 'a', quota: '1/1m' }],
    onEvent: () => {},
  });
  store.fail(gone);
  const answer = limiter.take('k');
  expect(answer).toBeInstanceOf(Promise);
  expect(await answer).toMatchObject({ allowed: true, degraded: { rule: 'local' } });
});

test.each([
  ['FLOODGATE_INVALID_CHARGE', { cost: -1 }],
  ['FLOODGATE_INVALID_CHARGE', { cost: 0.5 }],
])('a mistake of the caller is no failure of the store: %s', async (code, options) => {
  const { events, limiter } = setUp([{ name: 'a', quota: '1/1m' }]);
  await expect(async () => limiter.take('k', options)).rejects.toMatchObject({ code });
  expect(events).toEqual([]);
});
