import { describe, expect, test } from '@jest/globals';
import { MemoryStore, RateLimiter, type Store } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

/** A store that notes the calls that it gets. */
function listening(name: string, store: Store, calls: string[], clock = store.clock): Store {
  return {
    clock,
    take(charges, options) {
      calls.push(`${name} ${options?.mode ?? 'take'}`);
      return store.take(charges, options);
    },
    refund(refunds) {
      calls.push(`${name} refund`);
      return store.refund(refunds);
    },
    block: (subjects, durationMs) => store.block(subjects, durationMs),
    reset: (subjects) => store.reset(subjects),
    close: () => store.close(),
  };
}

function setUp({ near = '2/1m', far = '2/1m' } = {}) {
  const clock = new ManualClock();
  const calls: string[] = [];
  const memory = new MemoryStore({ clock });
  const remote = new FailingStore(new MemoryStore({ clock }));
  const limiter = new RateLimiter<Store>({
    policies: [
      { name: 'far', quota: far, store: listening('far', remote, calls) },
      { name: 'near', quota: near, store: listening('near', memory, calls) },
    ],
    onEvent: () => {},
  });
  return { clock, calls, remote, limiter };
}

describe('policies on several stores', () => {
  test('are met one store after the other: first the one that needs no network', async () => {
    const { calls, limiter } = setUp();
    const verdict = await limiter.take('k');
    expect(calls).toEqual(['near take', 'far take']);
    expect(verdict.decisions.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['far', 1],
      ['near', 1],
    ]);
  });

  test('the widest key comes last: `global`, else the one that is allowed the most', async () => {
    const calls: string[] = [];
    const stores = ['everybody', 'team', 'user'].map((name) =>
      listening(name, new MemoryStore(), calls),
    );
    const limiter = new RateLimiter<Store>({
      policies: [
        { name: 'everybody', quota: '5/1m', store: stores[0] as Store },
        { name: 'team', quota: '100/1m', store: stores[1] as Store },
        { name: 'user', quota: '10/1m', store: stores[2] as Store },
      ],
    });
    await limiter.take([
      { policy: 'everybody', key: 'global' },
      { policy: 'team', key: 'team:1' },
      { policy: 'user', key: 'user:1' },
    ]);
    expect(calls).toEqual(['user take', 'team take', 'everybody take']);
  });

  test('a later one that denies has the earlier ones given back, and all say what they would answer', async () => {
    const { calls, limiter } = setUp({ near: '5/1m', far: '2/1m' });
    await limiter.take('k');
    await limiter.take('k');
    calls.length = 0;
    const verdict = await limiter.take('k');
    expect(calls).toEqual(['near take', 'far take', 'near refund', 'near peek']);
    expect(verdict.allowed).toBe(false);
    expect(verdict.decision('far')).toMatchObject({ allowed: false, remaining: 0 });
    expect(verdict.decision('near')).toMatchObject({ allowed: true, remaining: 3 });
  });

  test('an earlier one that denies keeps the later ones uncharged, and they are heard too', async () => {
    const { limiter } = setUp({ near: '1/1m', far: '1/1h' });
    await limiter.take('k');
    const verdict = await limiter.take('k');
    expect(verdict.tightest.policy).toBe('far');
    expect(verdict.retryAfterMs).toBeGreaterThan(60_000);
    const { limiter: roomy } = setUp({ near: '1/1m', far: '5/1h' });
    await roomy.take('k');
    await roomy.take('k');
    const left = await roomy.peek('k', { cost: 0 });
    expect(left.decision('far')).toMatchObject({ allowed: true, remaining: 4 });
  });

  test('charges that no store could take are charged by none', async () => {
    const clock = new ManualClock();
    const [a, b] = [new MemoryStore({ clock }), new MemoryStore({ clock })];
    const limiter = new RateLimiter({
      policies: [
        { name: 'a', quota: '2/1m', store: a },
        { name: 'b', quota: '3/1m', store: b },
      ],
    });
    const wrong = [
      { policy: 'a', key: 'k' },
      { policy: 'b', key: '' },
    ];
    expect(() => limiter.take(wrong)).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_INVALID_CHARGE' }),
    );
    b.close();
    expect(() => limiter.take('k')).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_STORE_CLOSED' }),
    );
    expect(limiter.peek([{ policy: 'a', key: 'k' }], { cost: 0 }).tightest.remaining).toBe(2);
  });

  test('a denial for units that are merely held starts no block, however many hold them', async () => {
    const { clock, limiter } = setUp({ near: '2/1m block=1h', far: '1/1s' });
    // Two hold both units of `near` while `far` is asked; the third is denied by them alone, and so is the fourth.
    const verdicts = await Promise.all([1, 2, 3, 4].map(() => limiter.take('k')));
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false, false, false]);
    expect(verdicts.some((verdict) => verdict.decision('near')?.blocked)).toBe(false);
    clock.advance(2000);
    expect((await limiter.take('k')).allowed).toBe(true);
    expect((await limiter.take('k')).decision('near')?.blocked).toBe(true);
  });

  test('one that fails half-way is stood in for, and its strictest rule is told', async () => {
    const failing = (): FailingStore => {
      const store = new FailingStore(new MemoryStore());
      store.fail();
      return store;
    };
    const limiter = new RateLimiter<Store>({
      policies: [
        { name: 'a', quota: '2/1m', store: failing(), onStoreError: 'allow' },
        { name: 'b', quota: '2/1m', store: failing(), onStoreError: 'deny' },
      ],
      onEvent: () => {},
    });
    const verdict = await limiter.take('k');
    expect(verdict.allowed).toBe(false);
    expect(verdict.degraded).toMatchObject({ rule: 'deny', rules: ['allow', 'deny'] });
  });

  test('a block that one store refuses is still asked of the others, and rejects', async () => {
    const { remote, limiter } = setUp();
    remote.fail(new Error('away'));
    await expect(limiter.block('k', '1h')).rejects.toThrow('away');
    expect((await limiter.take('k')).decision('near')?.blocked).toBe(true);
  });
});
