import { describe, expect, test } from '@jest/globals';
import {
  type Charge,
  type Decision,
  MemoryStore,
  RateLimiter,
  type RateLimiterOptions,
  type Refund,
  type Store,
  type TakeOptions,
} from '../src/index.ts';
import { giveBack } from '../src/internal.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

/** A store that takes, and whose answers come too late: when they are let go. */
class LateStore implements Store {
  readonly memory: MemoryStore;
  readonly held: (() => void)[] = [];
  isLate = true;

  constructor(clock: ManualClock) {
    this.memory = new MemoryStore({ clock });
  }

  async take(charges: readonly Charge[], options: TakeOptions = {}): Promise<Decision[]> {
    const decisions = this.memory.take(charges, options);
    if (!this.isLate || options.mode === 'peek') return decisions;
    this.held.push(() => options.onLate?.(decisions));
    throw new Error('too late');
  }

  async refund(refunds: readonly Refund[]): Promise<void> {
    this.memory.refund(refunds);
  }

  async block(): Promise<void> {}
  async reset(): Promise<void> {}
  async close(): Promise<void> {}

  answer(): void {
    for (const answer of this.held.splice(0)) answer();
  }
}

const QUOTA = 'fixed-window 5/1h';

function setUp(options: Partial<RateLimiterOptions<Store>> = {}) {
  const clock = new ManualClock();
  const store = new LateStore(clock);
  const events: string[] = [];
  const policies = [{ name: 'a', quota: QUOTA }];
  const onEvent = ({ code }: { code: string }) => events.push(code);
  const limiter = new RateLimiter<Store>({ store, policies, onEvent, ...options });
  /** What the store has charged, whatever it answered. */
  const charged = async () => {
    store.isLate = false;
    const { decisions } = await limiter.peek([{ policy: 'a', key: 'k', cost: 0 }]);
    store.isLate = true;
    return 5 - (decisions[0]?.remaining ?? 0);
  };
  return { clock, store, limiter, events, charged };
}

describe('what a store charged too late', () => {
  test('stands, if the request was served', async () => {
    const { store, limiter, charged } = setUp();
    expect((await limiter.take('k')).allowed).toBe(true);
    store.answer();
    expect(await charged()).toBe(1);
  });

  test('is given back, if it was denied in the place of the store', async () => {
    const { store, limiter, charged } = setUp({ onStoreError: 'deny' });
    expect((await limiter.take('k', { cost: 3 })).allowed).toBe(false);
    expect(await charged()).toBe(3);
    store.answer();
    expect(await charged()).toBe(0);
  });

  test.each([true, false])(
    'is given back, if another store denied it, whichever answers first: %s',
    async (answersFirst) => {
      const other = new MemoryStore({ clock: new ManualClock() });
      other.block([{ policy: 'b', key: 'k' }], 60_000);
      // Known to be asked last, since its limit is the widest.
      const far = new FailingStore(other);
      const { store, limiter, charged } = setUp({
        policies: [
          { name: 'a', quota: QUOTA },
          { name: 'b', quota: 'fixed-window 99/1h', store: far },
        ],
      });
      const pending = limiter.take('k');
      if (answersFirst) {
        await Promise.resolve();
        store.answer();
      }
      expect((await pending).allowed).toBe(false);
      store.answer();
      expect(await charged()).toBe(0);
    },
  );

  test('is given back, if a later limiter denied the request', async () => {
    const { store, limiter, charged } = setUp();
    await giveBack(await limiter.take('k'));
    store.answer();
    expect(await charged()).toBe(0);
  });

  test.each([
    { trueCost: 0, charged: 0 },
    { trueCost: 1, charged: 1 },
    { trueCost: 5, charged: 5 },
  ])(
    'is settled with its request, whichever is known first: at $trueCost',
    async ({ trueCost, charged: expected }) => {
      for (const answersFirst of [true, false]) {
        const { store, limiter, charged } = setUp();
        const verdict = await limiter.take('k', { cost: 3 });
        if (answersFirst) store.answer();
        await verdict.settle(trueCost);
        store.answer();
        expect(await charged()).toBe(expected);
        await verdict.settle(2);
        expect(await charged()).toBe(expected);
      }
    },
  );

  test('is given back, if who waited for it gave up', async () => {
    const { store, limiter, charged } = setUp();
    const controller = new AbortController();
    const waiting = limiter.wait('k', { signal: controller.signal });
    controller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    store.answer();
    expect(await charged()).toBe(0);
  });

  test('is not settled, if it was denied after all', async () => {
    const { store, limiter, charged } = setUp();
    store.isLate = false;
    await limiter.take('k', { cost: 5 });
    store.isLate = true;
    const verdict = await limiter.take('k', { cost: 1 });
    store.answer();
    await verdict.settle(4);
    expect(await charged()).toBe(5);
  });

  test('nothing, is not given back', async () => {
    const { store, limiter, charged } = setUp({ onStoreError: 'deny' });
    store.isLate = false;
    await limiter.take('k', { cost: 5 });
    store.isLate = true;
    await limiter.take('k', { cost: 1 });
    store.answer();
    expect(await charged()).toBe(5);
  });

  test.each([
    ['rejects', async () => Promise.reject(new Error('gone'))],
    [
      'throws',
      () => {
        throw new Error('gone');
      },
    ],
  ])('is told of where it could not be given back, since the store %s', async (_, refund) => {
    const { store, limiter, events } = setUp({ onStoreError: 'deny' });
    store.refund = refund;
    await limiter.take('k');
    store.answer();
    await new Promise(setImmediate);
    expect(events).toEqual(['degraded', 'settle-failed']);
  });
});
