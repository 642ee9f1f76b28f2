import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, RateLimiter, type Verdict } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

const MINUTE_MS = 60_000;

function setUp(quota = 'sliding-window-log 5/15m block=15m') {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const limiter = new RateLimiter({ store, policies: [{ name: 'login', quota, settles: true }] });
  const state = (key = 'k') => limiter.peek(key, { cost: 0 }).tightest;
  return { clock, store, limiter, state };
}

describe('a policy whose costs are settled', () => {
  test('blocks when what is settled fills the quota', () => {
    const { limiter, state, clock } = setUp();
    const reserved = Array.from({ length: 5 }, () => limiter.take('k'));
    for (const [index, verdict] of reserved.entries()) {
      expect([verdict.allowed, state().blocked]).toEqual([true, false]);
      clock.advance(MINUTE_MS);
      verdict.settle(1);
      expect(state().blocked).toBe(index === 4);
    }
    expect(limiter.take('k')).toMatchObject({ allowed: false, retryAfterMs: 15 * MINUTE_MS });
    clock.advance(15 * MINUTE_MS - 1);
    expect(limiter.take('k').allowed).toBe(false);
    clock.advance(1);
    expect(limiter.take('k').allowed).toBe(true);
  });

  test('does not for what is merely reserved, nor for a denial that this causes', () => {
    const { limiter, state } = setUp();
    const all = Array.from({ length: 20 }, () => limiter.take('k'));
    expect(all.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(state()).toMatchObject({ blocked: false, remaining: 0 });
    for (const verdict of all) verdict.settle(0);
    expect(state()).toMatchObject({ blocked: false, remaining: 5 });
  });

  test('counts what is settled, whatever is reserved meanwhile', () => {
    const { limiter, state } = setUp();
    for (let i = 0; i < 4; i += 1) limiter.take('k').settle(1);
    const reserved = limiter.take('k');
    expect(limiter.take('k').allowed).toBe(false);
    expect(state().blocked).toBe(false);
    reserved.settle(0);
    expect(state()).toMatchObject({ blocked: false, remaining: 1 });
    limiter.take('k').settle(1);
    expect(state().blocked).toBe(true);
  });

  test('is not blocked for longer by what is settled while it is blocked', () => {
    const { limiter, state, clock } = setUp('token-bucket 5 1/1m block=15m');
    const early = limiter.take('k');
    const late = limiter.take('k');
    early.settle(5);
    expect(state()).toMatchObject({ blocked: true, resetAtMs: clock.now() + 15 * MINUTE_MS });
    clock.advance(MINUTE_MS);
    late.settle(1);
    expect(state()).toMatchObject({ blocked: true, resetAtMs: clock.now() + 14 * MINUTE_MS });
  });

  test.each(['fixed-window 5/1m block=15m', 'sliding-window-log 5/1m block=15m', '5/1m block=15m'])(
    'does not for what was taken long before it is settled (%s)',
    (quota) => {
      const { limiter, state, clock } = setUp(quota);
      const old = Array.from({ length: 5 }, () => limiter.take('k'));
      clock.advance(120_000);
      for (const verdict of old) verdict.settle(1);
      const now = Array.from({ length: 5 }, () => limiter.take('k'));
      now.pop()?.settle(1);
      expect(state()).toMatchObject({ blocked: false, remaining: 0 });
      for (const verdict of now) verdict.settle(1);
      expect(state().blocked).toBe(true);
    },
  );

  test('owes what it was forced to', () => {
    const { limiter, state, clock } = setUp('token-bucket 5 1/1m');
    limiter.take('k', { cost: 5 }).settle(12);
    expect(limiter.take('k')).toMatchObject({ allowed: false, retryAfterMs: 8 * MINUTE_MS });
    clock.advance(8 * MINUTE_MS - 1);
    expect(state().remaining).toBe(0);
    clock.advance(1);
    expect(state().remaining).toBe(1);
  });

  test('may have a quota that comes with the charge', () => {
    const { limiter, state } = setUp('100/1m');
    const quota = 'fixed-window 2/1m block=1h';
    const charge = { policy: 'login', key: 'k', quota };
    const [first, second] = [limiter.take([charge]), limiter.take([charge])];
    expect(limiter.take([charge]).tightest).toMatchObject({ allowed: false, blocked: false });
    first.settle(1);
    second.settle(1);
    expect(state().blocked).toBe(true);
  });

  test('forgets what was settled with a reset, and not by lifting a block', () => {
    const { limiter, state } = setUp();
    for (let i = 0; i < 4; i += 1) limiter.take('k').settle(1);
    limiter.reset('k');
    for (let i = 0; i < 4; i += 1) limiter.take('k').settle(1);
    expect(state().blocked).toBe(false);
    limiter.unblock('k');
    limiter.take('k').settle(1);
    expect(state().blocked).toBe(true);
  });

  test('is no other where nothing blocks', () => {
    const { limiter, store } = setUp('fixed-window 5/1m');
    for (let i = 0; i < 7; i += 1) limiter.take('k').settle(1);
    expect(store.size).toBe(1);
  });

  test('blocks on a store that answers in promises, and while another stands in for it', async () => {
    const clock = new ManualClock();
    const store = new FailingStore(new MemoryStore({ clock }));
    const limiter = new RateLimiter({
      store,
      policies: [{ name: 'login', quota: 'fixed-window 2/1m block=1h', settles: true }],
      onEvent: () => {},
    });
    const fill = async () => {
      for (let i = 0; i < 2; i += 1) await (await limiter.take('k')).settle(1);
      return (await limiter.peek('k', { cost: 0 })).tightest.blocked;
    };
    expect(await fill()).toBe(true);
    store.fail();
    expect(await fill()).toBe(true);
  });

  test.each([
    [{ name: 'a', quota: '1/1m', settles: 1 }, /`settles` to be true or false, got `1`/],
    [{ name: 'a (Settled)', quota: '1/1m' }, /`name`.*settled/],
  ])('is refused where it is wrong (%j)', (policy, message) => {
    const policies = [{ name: 'a', quota: '1/1m', settles: true }, policy].slice(
      policy.name === 'a' ? 1 : 0,
    );
    expect(() => new RateLimiter({ policies: policies as never })).toThrow(message);
  });
});

/** Requests of one key: each is taken, and later settled for some cost, or never. */
test('units are conserved, and a block starts exactly when what is settled fills the quota', () => {
  const step = fc.oneof(
    fc.record({ take: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ settle: fc.nat(20), cost: fc.integer({ min: 0, max: 4 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const limit = 10;
      const { limiter, state } = setUp(`fixed-window ${limit}/1d block=1d`);
      const open: { verdict: Verdict; cost: number }[] = [];
      let reserved = 0;
      let settled = 0;
      for (const one of steps) {
        const isBlocked = settled >= limit;
        if ('take' in one) {
          const verdict = limiter.take('k', { cost: one.take });
          const fits = reserved + settled + one.take <= limit;
          expect(verdict.allowed).toBe(!isBlocked && (fits || one.take === 0));
          if (verdict.allowed) {
            open.push({ verdict, cost: one.take });
            reserved += one.take;
          }
        } else {
          const [found] = open.splice(one.settle, 1);
          if (found === undefined) continue;
          void found.verdict.settle(one.cost);
          reserved -= found.cost;
          settled += one.cost;
        }
        const { blocked, remaining } = state();
        expect(blocked).toBe(settled >= limit);
        expect(remaining).toBe(settled >= limit ? 0 : Math.max(0, limit - reserved - settled));
      }
    }),
    { numRuns: 1000 },
  );
});
