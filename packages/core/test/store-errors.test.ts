import { describe, expect, test } from '@jest/globals';
import { type FloodgateEvent, MemoryStore, RateLimiter, type Store } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

function setUp(
  options: Partial<ConstructorParameters<typeof RateLimiter>[0]> = {},
  { remote = false } = {},
) {
  const clock = new ManualClock();
  const store = new FailingStore(new MemoryStore({ clock }), { remote });
  const events: FloodgateEvent[] = [];
  const limiter = new RateLimiter<Store>({
    store,
    policies: [{ name: 'minute', quota: 'fixed-window 4/1m' }],
    onEvent: (event) => events.push(event),
    ...options,
  });
  const admittedOf = async (count: number): Promise<number> => {
    let admitted = 0;
    for (let i = 0; i < count; i += 1) if ((await limiter.take('k')).allowed) admitted += 1;
    return admitted;
  };
  return { clock, store, events, limiter, admittedOf, codes: () => events.map(({ code }) => code) };
}

describe('while a store fails', () => {
  test("'local', the default: a memory store takes over", async () => {
    const { store, admittedOf, limiter } = setUp();
    store.fail();
    expect(await admittedOf(10)).toBe(4);
    const verdict = await limiter.take('k');
    expect(verdict.degraded).toMatchObject({ rule: 'local', rules: ['local'] });
    expect(verdict.decisions[0]).toMatchObject({ degraded: 'local', limit: 4, remaining: 0 });
    expect(verdict.bound).toBe(Number.POSITIVE_INFINITY);
  });

  test('its limits are divided by `instances`, rounded up', async () => {
    const { store, admittedOf } = setUp({ instances: 3 });
    store.fail();
    expect(await admittedOf(10)).toBe(2);
  });

  test("a bucket's interval is multiplied, its rate kept", async () => {
    const policies = [{ name: 'bucket', quota: 'token-bucket 4 2/1s' }];
    const { clock, store, admittedOf } = setUp({ policies, instances: 2 });
    store.fail();
    expect(await admittedOf(10)).toBe(2);
    clock.advance(1000);
    expect(await admittedOf(10)).toBe(1);
  });

  test("'allow': everything passes", async () => {
    const { store, admittedOf, limiter } = setUp({ onStoreError: 'allow' });
    store.fail();
    expect(await admittedOf(10)).toBe(10);
    expect((await limiter.take('k')).degraded?.rule).toBe('allow');
  });

  test("'deny': nothing passes, and a second is told to wait", async () => {
    const { store, limiter } = setUp({ onStoreError: 'deny' });
    store.fail();
    const verdict = await limiter.take('k');
    expect(verdict).toMatchObject({ allowed: false, retryAfterMs: 1000, bound: 0 });
    expect(verdict.degraded).toMatchObject({ rule: 'deny' });
  });

  test('each policy may have a rule of its own', async () => {
    const { store, limiter } = setUp({
      policies: [
        { name: 'a', quota: '1/1m', onStoreError: 'allow' },
        { name: 'b', quota: '2/1m' },
      ],
    });
    store.fail();
    const verdicts = [];
    for (let i = 0; i < 3; i += 1) verdicts.push(await limiter.take('k'));
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(verdicts[2]?.decisions.map(({ degraded }) => degraded)).toEqual(['allow', 'local']);
  });

  test.each([[[]], [[{}]], [null], [undefined], ['nonsense']])(
    'answers that are no decisions are a failure too: %j',
    async (answer) => {
      const store = { ...new MemoryStore(), take: async () => answer } as unknown as Store;
      const { limiter } = setUp({ store });
      expect((await limiter.take('k')).degraded?.error.code).toBe('FLOODGATE_STORE_FAILED');
    },
  );

  test("a caller's mistake stays the caller's, whatever the rule", async () => {
    const { store, limiter, events } = setUp({ onStoreError: 'allow' });
    store.fail();
    expect(() => limiter.take('k', { cost: Number.NaN })).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_INVALID_CHARGE' }),
    );
    expect(events).toEqual([]);
  });

  test.each([null, 'text', Object.create(null)])('it may throw anything: %p', async (thrown) => {
    const { store, limiter } = setUp();
    store.fail(thrown);
    expect((await limiter.take('k')).degraded?.error.cause).toBe(thrown);
  });
});

describe('what the operator is told', () => {
  test('each change is one event, not one for each request', async () => {
    const { store, admittedOf, codes } = setUp();
    store.fail();
    await admittedOf(10);
    store.recover();
    await admittedOf(10);
    expect(codes()).toEqual(['degraded', 'recovered']);
  });

  test('a store that fails every other time is told of once a second, and its limit still holds', async () => {
    const { store, limiter, events } = setUp({
      policies: [{ name: 'hour', quota: 'fixed-window 3/1h' }],
    });
    let admitted = 0;
    for (let i = 0; i < 100; i += 1) {
      store.failCall(1);
      if ((await limiter.take('k')).allowed) admitted += 1;
      if ((await limiter.take('k')).allowed) admitted += 1;
    }
    // Three by the store's own count, and three by the one that stands in for it.
    expect(admitted).toBe(6);
    expect(events).toHaveLength(2);
  });

  test('a failure that goes on is told of, though the last one was a moment ago', async () => {
    const { clock, store, limiter, codes } = setUp();
    for (const fails of [true, false, true]) {
      if (fails) store.fail();
      else store.recover();
      await limiter.take('k');
    }
    expect(codes()).toEqual(['degraded', 'recovered']);
    clock.advance(1000);
    await limiter.take('k');
    expect(codes()).toEqual(['degraded', 'recovered', 'degraded']);
  });
});

describe('settling', () => {
  test('goes to the store that made the verdict', async () => {
    const { store, limiter } = setUp();
    store.fail();
    const local = await limiter.take('k', { cost: 4 });
    store.recover();
    await limiter.take('k');
    await local.settle(1);
    expect((await limiter.peek('k', { cost: 0 })).tightest.remaining).toBe(3);
    store.fail();
    expect((await limiter.peek('k', { cost: 0 })).tightest.remaining).toBe(3);
  });

  test.each([true, false])(
    'that fails is an event and no rejection (remote: %p)',
    async (remote) => {
      const { store, limiter, codes } = setUp({}, { remote });
      const verdict = await limiter.take('k', { cost: 2 });
      store.fail();
      await verdict.settle(0);
      expect(codes()).toEqual(['settle-failed']);
    },
  );
});

test('a store behind a network answers in promises, also where it throws at once', () => {
  const store = new MemoryStore();
  const remote: Store = {
    take: () => {
      throw new Error('not connected');
    },
    refund: () => store.refund([]),
    block: () => {},
    reset: () => {},
    close: () => {},
  };
  const { limiter } = setUp({ store: remote });
  expect(limiter.take('k')).toBeInstanceOf(Promise);
});
