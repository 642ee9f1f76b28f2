import { expect, test } from '@jest/globals';
import { type FloodgateEvent, MemoryStore, RateLimiter, type Store } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

function setUp(store?: Store) {
  const clock = new ManualClock();
  const failing = new FailingStore(new MemoryStore({ clock }), { remote: false });
  const events: FloodgateEvent[] = [];
  const limiter = new RateLimiter<Store>({
    store: store ?? failing,
    policies: [{ name: 'hour', quota: 'fixed-window 3/1h' }],
    onEvent: (event) => events.push(event),
  });
  return { clock, failing, limiter, codes: () => events.map(({ code }) => code) };
}

test('a store that fails every other time is told of once a second, and its limit still holds', async () => {
  const { failing, limiter, codes } = setUp();
  let admitted = 0;
  for (let i = 0; i < 100; i += 1) {
    failing.failCall(1);
    if ((await limiter.take('k')).allowed) admitted += 1;
    if ((await limiter.take('k')).allowed) admitted += 1;
  }
  // Three by the store's own count, and three by the one that stands in for it.
  expect(admitted).toBe(6);
  expect(codes()).toEqual(['degraded', 'recovered']);
});

test('a failure that goes on is told of, though the last one was a moment ago', async () => {
  const { clock, failing, limiter, codes } = setUp();
  for (const fails of [true, false, true]) {
    if (fails) failing.fail();
    else failing.recover();
    await limiter.take('k');
  }
  expect(codes()).toEqual(['degraded', 'recovered']);
  clock.advance(1000);
  await limiter.take('k');
  expect(codes()).toEqual(['degraded', 'recovered', 'degraded']);
});

test.each([[[]], [[{}]], [null], [undefined], ['nonsense']])(
  'a store that answers what are no decisions has failed: %j',
  async (answer) => {
    const { limiter } = setUp({ ...new MemoryStore(), take: async () => answer } as never);
    const verdict = await limiter.take('k');
    expect(verdict.degraded?.error.code).toBe('FLOODGATE_STORE_FAILED');
    expect(verdict.allowed).toBe(true);
  },
);
