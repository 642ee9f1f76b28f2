import { describe, expect, test } from '@jest/globals';
import { MemoryStore, type Policy, RateLimiter, type RateLimiterOptions } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

function setUp(
  policies: readonly Policy<FailingStore>[],
  options: Partial<RateLimiterOptions<FailingStore>> = {},
) {
  const clock = new ManualClock();
  const store = new FailingStore(new MemoryStore({ clock }), { remote: false });
  const limiter = new RateLimiter({ store, policies, onEvent: () => {}, ...options });
  const take = async (cost = 1, key = 'k') => limiter.take(key, { cost });
  return { clock, store, limiter, take };
}

describe("what a store denied stays denied in 'local', though its memory knows nothing of it", () => {
  test.each(['fixed-window 5/1m', 'sliding-window-log 5/1m', 'token-bucket 5 1/12s', '5/1m'])(
    'until the time that was told: %s',
    async (quota) => {
      const { clock, store, take } = setUp([{ name: 'a', quota }]);
      await take(5);
      const { retryAfterMs } = await take();
      store.fail();
      clock.advance(10);
      const verdict = await take();
      expect(verdict).toMatchObject({ allowed: false, degraded: { rule: 'local' } });
      expect(verdict.tightest).toMatchObject({
        ...{ limit: 5, remaining: 0, retryAfterMs: retryAfterMs - 10, blocked: false },
        ...{ atMs: clock.now(), delayMs: 0 },
      });
      clock.advance(retryAfterMs - 11);
      expect((await take()).retryAfterMs).toBe(1);
      clock.advance(1);
      expect((await take()).allowed).toBe(true);
    },
  );

  test('but not for a smaller cost, which was not denied', async () => {
    const { store, take } = setUp([{ name: 'a', quota: 'fixed-window 5/1m' }]);
    await take(3);
    await take(4);
    store.fail();
    expect((await take(4)).tightest).toMatchObject({ allowed: false, remaining: 2 });
    expect((await take(5)).allowed).toBe(false);
    expect((await take(3)).allowed).toBe(true);
  });

  test('and what was denied of a small cost is not forgotten for a denial of a large one', async () => {
    const { store, take } = setUp([{ name: 'a', quota: 'fixed-window 5/1m' }]);
    await take(5);
    await take(1);
    await take(4);
    store.fail();
    expect((await take(1)).allowed).toBe(false);
  });

  test('nor by a larger limit', async () => {
    const { store, limiter } = setUp([{ name: 'a', quota: 'fixed-window 5/1m' }]);
    const take = async (quota: string) => limiter.take([{ policy: 'a', key: 'k', quota, cost: 5 }]);
    await take('fixed-window 5/1m');
    await take('fixed-window 5/1m');
    store.fail();
    expect((await take('fixed-window 5/1m')).allowed).toBe(false);
    expect((await take('fixed-window 9/1m')).allowed).toBe(true);
  });

  test('and a cost above the limit waits for ever, as always', async () => {
    const { store, take } = setUp([{ name: 'a', quota: 'fixed-window 5/1m' }]);
    await take(5);
    await take();
    store.fail();
    expect((await take(6)).retryAfterMs).toBe(Number.POSITIVE_INFINITY);
  });

  test('unless the store admitted it again before it failed', async () => {
    const { store, limiter, take } = setUp([{ name: 'a', quota: 'fixed-window 5/1m' }]);
    const first = await take(5);
    await take();
    await first.settle(0);
    await take();
    store.fail();
    expect((await limiter.take('k')).allowed).toBe(true);
  });

  test.each([
    ['a peek at no cost', 0, 'fixed-window 5/1m'],
    ['an admission at a smaller cost', 1, 'fixed-window 5/1m'],
    ["an admission by another plan's limit", 4, 'fixed-window 50/1m'],
  ])('%s does not make it forgotten', async (_, cost, quota) => {
    const { store, limiter } = setUp([{ name: 'a', quota: 'fixed-window 5/1m' }]);
    const take = async (cost: number, quota = 'fixed-window 5/1m') =>
      limiter.take([{ policy: 'a', key: 'k', quota, cost }]);
    await take(4);
    expect((await take(4)).allowed).toBe(false);
    expect((await take(cost, quota)).allowed).toBe(true);
    store.fail();
    expect((await take(4)).allowed).toBe(false);
  });

  test('but lifting a block does not admit who was denied for what was used', async () => {
    const { store, limiter, take } = setUp([{ name: 'a', quota: 'fixed-window 5/1m' }]);
    await take(5);
    await take();
    await limiter.unblock('k');
    store.fail();
    expect((await take()).allowed).toBe(false);
  });

  test('by the limit that each process has then', async () => {
    const { store, take } = setUp([{ name: 'a', quota: 'fixed-window 8/1m' }], { instances: 4 });
    await take(5);
    await take(4);
    store.fail();
    expect((await take(4)).tightest).toMatchObject({ allowed: false, limit: 2, remaining: 2 });
  });

  test('and a clock that is set back does not prolong it', async () => {
    const { clock, store, take } = setUp([{ name: 'a', quota: 'fixed-window 5/1m' }]);
    await take(5);
    const { retryAfterMs } = await take();
    store.fail();
    clock.advance(-3_600_000);
    expect((await take()).retryAfterMs).toBe(retryAfterMs);
    clock.advance(retryAfterMs);
    expect((await take()).allowed).toBe(true);
  });

  test('and none of its group is charged', async () => {
    const { store, limiter } = setUp([
      { name: 'full', quota: 'fixed-window 1/1m' },
      { name: 'free', quota: 'fixed-window 9/1m' },
    ]);
    await limiter.take([{ policy: 'full', key: 'k' }]);
    await limiter.take([{ policy: 'full', key: 'k' }]);
    store.fail();
    for (let i = 0; i < 2; i += 1) {
      const verdict = await limiter.take('k');
      expect(verdict.allowed).toBe(false);
      expect(verdict.decision('free')).toMatchObject({ allowed: true, remaining: 9 });
    }
    const watching = await limiter.take([
      { policy: 'full', key: 'k', advisory: true },
      { policy: 'free', key: 'k' },
    ]);
    expect(watching.allowed).toBe(true);
    expect(watching.decision('full')).toMatchObject({ allowed: false });
    expect(watching.decision('free')).toMatchObject({ remaining: 8 });
  });
});

describe("who is blocked stays blocked in 'local'", () => {
  test('by the quota, for any cost', async () => {
    const { clock, store, take } = setUp([{ name: 'a', quota: 'fixed-window 2/1m block=15m' }]);
    await take(2);
    await take();
    store.fail();
    expect((await take(0)).tightest).toMatchObject({ allowed: false, blocked: true, remaining: 0 });
    clock.advance(900_000 - 1);
    expect((await take()).tightest).toMatchObject({ retryAfterMs: 1, blocked: true });
    clock.advance(1);
    expect((await take()).allowed).toBe(true);
  });

  test('by hand, before and while the store is away', async () => {
    const { clock, store, limiter, take } = setUp([{ name: 'a', quota: '5/1m' }]);
    await limiter.block('k', '1h');
    store.fail();
    expect(() => limiter.block('other', '1m')).toThrow('The store failed');
    expect((await take()).tightest).toMatchObject({ blocked: true, retryAfterMs: 3_600_000 });
    expect((await take(1, 'other')).tightest).toMatchObject({ blocked: true, allowed: false });
    clock.advance(60_000);
    expect((await take(1, 'other')).allowed).toBe(true);
    expect((await take()).allowed).toBe(false);
  });

  test.each(['unblock', 'reset'] as const)('until an operator lifts it: %s', async (how) => {
    const { store, limiter, take } = setUp([{ name: 'a', quota: '5/1m' }]);
    await limiter.block('k', '1h');
    await limiter[how]('k');
    store.fail();
    expect((await take()).allowed).toBe(true);
  });
});

test('limiters that share a store share what stands in for it', async () => {
  const { store, limiter } = setUp([{ name: 'a', quota: 'fixed-window 2/1h' }]);
  const policies = [
    { name: 'a', quota: 'fixed-window 2/1h' },
    { name: 'b', quota: 'fixed-window 9/1h' },
  ];
  const other = new RateLimiter({ store, policies, onEvent: () => {} });
  await limiter.take('known', { cost: 2 });
  await limiter.take('known');
  store.fail();
  expect((await other.take('known')).allowed).toBe(false);
  expect((await limiter.take('k')).allowed).toBe(true);
  expect((await other.take('k')).allowed).toBe(true);
  expect((await limiter.take('k')).allowed).toBe(false);
  expect((await other.take('k')).allowed).toBe(false);
});

test("other rules decide as they say: 'allow' lets pass who was denied", async () => {
  const { store, take } = setUp([{ name: 'a', quota: '1/1m' }], { onStoreError: 'allow' });
  await take();
  expect((await take()).allowed).toBe(false);
  store.fail();
  expect((await take()).allowed).toBe(true);
});

test('no more than 100,000 are remembered: beyond it, who was denied first is forgotten', async () => {
  const { store, take } = setUp([{ name: 'a', quota: 'fixed-window 1/1m' }]);
  for (let i = 0; i <= 100_000; i += 1) {
    await take(1, `k${i}`);
    await take(1, `k${i}`);
  }
  store.fail();
  expect((await take(1, 'k0')).allowed).toBe(true);
  expect((await take(1, 'k1')).allowed).toBe(false);
  expect((await take(1, 'k100000')).allowed).toBe(false);
});
