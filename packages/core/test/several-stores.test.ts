import { describe, expect, test } from '@jest/globals';
import {
  type Charge,
  type Decision,
  type FloodgateEvent,
  MemoryStore,
  type Policy,
  RateLimiter,
  type Refund,
  type TakeOptions,
} from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

/** A store behind a network that writes down what it is asked, and answers when it is told to. */
class Remote extends FailingStore {
  readonly #asked: string[];
  readonly #name: string;
  #gate: Promise<void> = Promise.resolve();

  constructor(name: string, clock: ManualClock, asked: string[]) {
    super(new MemoryStore({ clock }));
    this.#name = name;
    this.#asked = asked;
  }

  override async take(charges: readonly Charge[], options?: TakeOptions): Promise<Decision[]> {
    this.#asked.push(`${this.#name} ${options?.mode ?? 'take'}`);
    await this.#gate;
    return super.take(charges, options);
  }

  override async refund(refunds: readonly Refund[]): Promise<void> {
    this.#asked.push(`${this.#name} refund`);
    await super.refund(refunds);
  }

  /** From now on it answers only when the promise has resolved. */
  holdUntil(gate: Promise<void>): void {
    this.#gate = gate;
  }
}

function setUp() {
  const clock = new ManualClock();
  const asked: string[] = [];
  const memory = new MemoryStore({ clock });
  const near = new Remote('near', clock, asked);
  const far = new Remote('far', clock, asked);
  const events: FloodgateEvent[] = [];
  const limiterOf = (policies: readonly Policy[], options = {}) =>
    new RateLimiter({ store: memory, policies, onEvent: (e) => events.push(e), ...options });
  return { clock, asked, memory, near, far, events, limiterOf };
}

const take = async (limiter: RateLimiter, cost = 1) => limiter.take('k', { cost });

async function leftOf(limiter: RateLimiter) {
  const { decisions } = await limiter.peek('k', { cost: 0 });
  return decisions.map(({ remaining }) => remaining);
}

describe('charges on several stores', () => {
  test('are taken one store after the other: those in this process first, the widest key last', async () => {
    const { asked, near, far, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'fleet', quota: '1000/1m', store: far },
      { name: 'tenant', quota: '100/1m', store: near },
      { name: 'user', quota: '10/1m' },
    ]);
    const verdict = await take(limiter);
    expect(asked).toEqual(['near take', 'far take']);
    expect(verdict.decisions).toMatchObject([
      { policy: 'fleet', remaining: 999 },
      { policy: 'tenant', remaining: 99 },
      { policy: 'user', remaining: 9 },
    ]);
  });

  test('ask no network for more than a look where a store in this process denies, however wide its key', async () => {
    const { asked, near, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'tenant', quota: '10/1m', store: near },
      { name: 'fleet', quota: 'fixed-window 1000/1m' },
    ]);
    expect((await take(limiter, 1001)).allowed).toBe(false);
    await limiter.take([{ policy: 'fleet', key: 'global', cost: 1000 }]);
    await limiter.take([
      { policy: 'tenant', key: 'k' },
      { policy: 'fleet', key: 'global' },
    ]);
    expect(new Set(asked)).toEqual(new Set(['near peek']));
  });

  test('the key `global` is the widest, whatever its limit', async () => {
    const { asked, near, far, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'fleet', quota: '10/1m', store: far },
      { name: 'user', quota: '1000/1m', store: near },
    ]);
    await limiter.take([
      { policy: 'fleet', key: 'global' },
      { policy: 'user', key: 'u' },
    ]);
    expect(asked).toEqual(['near take', 'far take']);
  });

  test('those of one store are taken in one step', async () => {
    const { asked, near, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'a', quota: '5/1m', store: near },
      { name: 'b', quota: '5/1m' },
      { name: 'c', quota: '1/1m', store: near },
    ]);
    await take(limiter);
    expect((await take(limiter)).decisions).toMatchObject([
      { policy: 'a', allowed: true, remaining: 4 },
      { policy: 'b', allowed: true, remaining: 4 },
      { policy: 'c', allowed: false, remaining: 0 },
    ]);
    expect(asked).toEqual(['near take', 'near take']);
  });

  test('only of one store, though the limiter has several, ask only that one', async () => {
    const { asked, near, far, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'a', quota: '5/1m' },
      { name: 'b', quota: '5/1m', store: near },
      { name: 'c', quota: '5/1m', store: far },
    ]);
    await limiter.take([{ policy: 'b', key: 'k' }]);
    expect(asked).toEqual(['near take']);
  });

  test('of stores that answer at once are met at once', () => {
    const { clock, memory } = setUp();
    const limiter = new RateLimiter({
      store: memory,
      policies: [
        { name: 'a', quota: '5/1m' },
        { name: 'b', quota: '3/1m', store: new MemoryStore({ clock }) },
      ],
    });
    const verdict = limiter.take('k', { cost: 4 });
    expect(verdict).not.toBeInstanceOf(Promise);
    expect(verdict.decisions).toMatchObject([
      { allowed: true, remaining: 5 },
      { allowed: false, remaining: 3 },
    ]);
  });
});

describe('where one denies', () => {
  test('what earlier ones took is given back, later ones are only asked, and all say what they have left', async () => {
    const { asked, near, far, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'user', quota: '50/1m' },
      { name: 'tenant', quota: '5/1m', store: near },
      { name: 'fleet', quota: '1000/1m', store: far },
    ]);
    const verdict = await take(limiter, 6);
    expect(verdict).toMatchObject({ allowed: false, delayMs: 0 });
    expect(verdict.decisions).toMatchObject([
      { policy: 'user', allowed: true, remaining: 50, retryAfterMs: 0 },
      { policy: 'tenant', allowed: false, remaining: 5 },
      { policy: 'fleet', allowed: true, remaining: 1000, retryAfterMs: 0 },
    ]);
    expect(asked.filter((call) => call.endsWith('take'))).toEqual(['near take']);
    expect(await leftOf(limiter)).toEqual([50, 5, 1000]);
  });

  test('it makes no difference which: nobody is charged', async () => {
    for (const limits of [
      [1, 9, 9],
      [9, 1, 9],
      [9, 9, 1],
    ]) {
      const { near, far, limiterOf } = setUp();
      const limiter = limiterOf([
        { name: 'a', quota: `token-bucket ${limits[0]} 1/1s` },
        { name: 'b', quota: `sliding-window-log ${limits[1]}/1m`, store: near },
        { name: 'c', quota: `fixed-window ${limits[2]}/1m`, store: far },
      ]);
      expect((await take(limiter, 2)).allowed).toBe(false);
      expect(await leftOf(limiter)).toEqual(limits);
    }
  });

  test('never more is admitted than each of them alone would, of many at once', async () => {
    const { near, far, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'a', quota: '40/1m' },
      { name: 'b', quota: '20/1m', store: near },
      { name: 'c', quota: '30/1m', store: far },
    ]);
    const verdicts = await Promise.all(Array.from({ length: 100 }, () => take(limiter)));
    expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(20);
    expect(await leftOf(limiter)).toEqual([20, 0, 10]);
  });

  test('an advisory one that has no room stops nothing, and one that has is given back', async () => {
    const { near, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'watched', quota: '1/1m' },
      { name: 'hard', quota: '2/1m', store: near },
    ]);
    const request = (cost: number) =>
      limiter.take([
        { policy: 'watched', key: 'k', advisory: true },
        { policy: 'hard', key: 'k', cost },
      ]);
    expect((await request(3)).allowed).toBe(false);
    expect(await leftOf(limiter)).toEqual([1, 2]);
    expect((await request(1)).allowed).toBe(true);
    expect((await request(1)).decisions).toMatchObject([{ allowed: false }, { allowed: true }]);
    expect(await leftOf(limiter)).toEqual([0, 0]);
  });
});

describe('units that are merely reserved', () => {
  test('deny, but start no block, until it is known whether they are used', async () => {
    const { near, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'user', quota: '1/1m block=1h' },
      { name: 'tenant', quota: '5/1m', store: near },
    ]);
    let open = (): void => {};
    near.holdUntil(
      new Promise((resolve) => {
        open = resolve;
      }),
    );
    const first = take(limiter);
    const second = limiter.take([{ policy: 'user', key: 'k' }]);
    expect(await second).toMatchObject({ allowed: false });
    expect((await second).tightest.blocked).toBe(false);
    const third = take(limiter);
    open();
    expect((await first).allowed).toBe(true);
    expect((await third).decisions[0]).toMatchObject({ allowed: false, blocked: false });
    // Now they are used, and a denial is what it is.
    expect((await take(limiter)).decisions[0]).toMatchObject({ allowed: false, blocked: true });
  });

  test('and were given back leave nobody blocked', async () => {
    const { near, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'user', quota: '1/1m block=1h' },
      { name: 'tenant', quota: '0/1m', store: near },
    ]);
    const verdicts = await Promise.all([take(limiter), take(limiter), take(limiter)]);
    expect(verdicts.every(({ allowed }) => !allowed)).toBe(true);
    expect(limiter.peek([{ policy: 'user', key: 'k' }])).toMatchObject({ allowed: true });
  });
});

describe('a failure half-way', () => {
  const policies = (store: Remote, onStoreError: 'local' | 'allow' | 'deny'): Policy[] => [
    { name: 'user', quota: '5/1m' },
    { name: 'tenant', quota: '100/1m', store, onStoreError },
  ];

  test.each([
    { rule: 'allow', allowed: true, left: 4 },
    { rule: 'local', allowed: true, left: 4 },
    { rule: 'deny', allowed: false, left: 5 },
  ] as const)('under $rule: admitted: $allowed', async ({ rule, allowed, left }) => {
    const { near, limiterOf } = setUp();
    const limiter = limiterOf(policies(near, rule));
    near.fail();
    const verdict = await take(limiter);
    expect(verdict).toMatchObject({ allowed, degraded: { rule } });
    expect(verdict.decision('user')).toMatchObject({ allowed: true, remaining: left });
    near.recover();
    expect((await leftOf(limiter))[0]).toBe(left);
  });

  test('of giving back is reported, and the denial stands', async () => {
    const { near, far, events, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'tenant', quota: '5/1m', store: near },
      { name: 'fleet', quota: '6/1m', store: far },
    ]);
    await limiter.take([{ policy: 'fleet', key: 'k', cost: 6 }]);
    near.failCall(2, new Error('gone'));
    const verdict = await take(limiter);
    expect(verdict.allowed).toBe(false);
    expect(events).toMatchObject([
      { code: 'settle-failed', error: expect.objectContaining({ message: 'gone' }) },
    ]);
  });

  test('of a kind that is the caller’s mistake leaves nothing charged', async () => {
    const { clock, memory } = setUp();
    const other = new MemoryStore({ clock });
    const limiter = new RateLimiter({
      store: memory,
      policies: [
        { name: 'a', quota: '10/1m' },
        { name: 'b', quota: '20/1m', store: other },
      ],
    });
    for (const charge of [
      { policy: 'b', key: '' },
      { policy: 'b', key: 'k', cost: -1 },
      { policy: 'b', key: 'k', cost: Number.NaN },
    ]) {
      expect(() => limiter.take([{ policy: 'a', key: 'k', cost: 5 }, charge])).toThrow(
        expect.objectContaining({ code: 'FLOODGATE_INVALID_CHARGE' }),
      );
    }
    other.close();
    expect(() => limiter.take('k')).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_STORE_CLOSED' }),
    );
    expect(limiter.peek([{ policy: 'a', key: 'k', cost: 0 }]).tightest.remaining).toBe(10);
  });
});

describe('on several stores', () => {
  test('each is settled where it was taken', async () => {
    const { near, far, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'a', quota: '10/1m' },
      { name: 'b', quota: '10/1m', store: near },
      { name: 'c', quota: '10/1m', store: far },
    ]);
    const verdict = await take(limiter, 5);
    await verdict.settle({ a: 1, b: 7 });
    await verdict.settle(0);
    expect(await leftOf(limiter)).toEqual([9, 3, 10]);
  });

  test('blocks and resets reach each subject where it is', async () => {
    const { near, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'a', quota: '10/1m' },
      { name: 'b', quota: '10/1m', store: near },
    ]);
    await take(limiter, 4);
    await limiter.block('k', '1h');
    expect((await take(limiter)).decisions.map(({ blocked }) => blocked)).toEqual([true, true]);
    await limiter.unblock([{ policy: 'b', key: 'k' }]);
    expect((await take(limiter)).decisions.map(({ blocked }) => blocked)).toEqual([true, false]);
    await limiter.reset('k');
    expect(await leftOf(limiter)).toEqual([10, 10]);
  });

  test('a peek takes nothing anywhere', async () => {
    const { asked, near, far, limiterOf } = setUp();
    const limiter = limiterOf([
      { name: 'a', quota: '10/1m' },
      { name: 'b', quota: '10/1m', store: near },
      { name: 'c', quota: '3/1m', store: far },
    ]);
    expect((await limiter.peek('k', { cost: 4 })).decisions).toMatchObject([
      { allowed: true, remaining: 10 },
      { allowed: true, remaining: 10 },
      { allowed: false, remaining: 3 },
    ]);
    expect(asked.every((call) => call.endsWith('peek'))).toBe(true);
    expect(await leftOf(limiter)).toEqual([10, 10, 3]);
  });
});
