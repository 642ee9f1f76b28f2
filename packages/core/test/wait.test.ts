import { describe, expect, test } from '@jest/globals';
import { MemoryStore, RateLimiter } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

function setUp(quota: string) {
  const clock = new ManualClock();
  const limiter = new RateLimiter({
    store: new MemoryStore({ clock }),
    policies: [{ name: 'jobs', quota }],
  });
  const left = () => limiter.peek('k', { cost: 0 }).tightest.remaining;
  return { clock, limiter, left };
}

/** Lets everything that can go on without the clock go on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('wait', () => {
  test('resolves at once where there is room', async () => {
    const { limiter, left } = setUp('5/1m');
    const verdict = await limiter.wait('k', { cost: 2 });
    expect(verdict).toMatchObject({ allowed: true });
    expect(left()).toBe(3);
  });

  test('resolves when it is admitted, and not a millisecond before', async () => {
    const { clock, limiter } = setUp('token-bucket 1 1/1s');
    await limiter.wait('k');
    let done = false;
    const waiting = limiter.wait('k').then(() => {
      done = true;
    });
    await settled();
    clock.advance(999);
    await settled();
    expect(done).toBe(false);
    clock.advance(1);
    await waiting;
    expect(clock.sleeping).toBe(0);
  });

  test('twenty jobs at one a second with a burst of five all run, in fifteen seconds', async () => {
    const { clock, limiter } = setUp('token-bucket 5 1/1s');
    const finishedAt: number[] = [];
    const jobs = Array.from({ length: 20 }, () =>
      limiter.wait('k').then(() => finishedAt.push(clock.now())),
    );
    const startMs = clock.now();
    for (let second = 0; second <= 15; second += 1) {
      await settled();
      clock.set(startMs + second * 1000);
      await settled();
    }
    await Promise.all(jobs);
    expect(finishedAt.map((ms) => (ms - startMs) / 1000)).toEqual([
      ...[0, 0, 0, 0, 0],
      ...Array.from({ length: 15 }, (_, i) => i + 1),
    ]);
    expect(clock.sleeping).toBe(0);
  });

  test('waits for its turn in a shaped leaky bucket', async () => {
    const { clock, limiter } = setUp('leaky-bucket 3 1/1s');
    await limiter.wait('k');
    let verdict: { delayMs: number } | undefined;
    const waiting = limiter.wait('k').then((answer) => {
      verdict = answer;
    });
    await settled();
    expect(verdict).toBeUndefined();
    clock.advance(1000);
    await waiting;
    expect(verdict?.delayMs).toBe(1000);
  });

  test('works with a store that answers in promises', async () => {
    const clock = new ManualClock();
    const store = new FailingStore(new MemoryStore({ clock }));
    const limiter = new RateLimiter({ store, policies: [{ name: 'jobs', quota: '5/1m' }] });
    expect(await limiter.wait('k')).toMatchObject({ allowed: true });
  });

  test('may name policies, each with a key and a cost of its own', async () => {
    const { limiter, left } = setUp('5/1m');
    await limiter.wait([{ policy: 'jobs', key: 'k', cost: 3 }]);
    expect(left()).toBe(2);
  });
});

describe('maxWait', () => {
  test('fails at once where it would be longer, says how long, and takes nothing', async () => {
    const { clock, limiter, left } = setUp('sliding-window-log 5/1m');
    limiter.take('k', { cost: 5 });
    clock.advance(20_000);
    await expect(limiter.wait('k', { maxWait: '39s' })).rejects.toMatchObject({
      code: 'FLOODGATE_WAIT_TOO_LONG',
      retryAfterMs: 40_000,
      message: expect.stringContaining('`jobs`'),
    });
    expect(clock.sleeping).toBe(0);
    const waiting = limiter.wait('k', { maxWait: '40s' });
    await settled();
    clock.advance(40_000);
    await expect(waiting).resolves.toMatchObject({ allowed: true });
    expect(left()).toBe(4);
  });

  test('holds for all waits together', async () => {
    const { clock, limiter } = setUp('token-bucket 1 1/1s');
    limiter.take('k');
    const waiting = limiter.wait('k', { maxWait: 1500 });
    const failed = expect(waiting).rejects.toMatchObject({ code: 'FLOODGATE_WAIT_TOO_LONG' });
    await settled();
    // Somebody else is faster when the time has come.
    clock.advance(999);
    await settled();
    clock.set(clock.now() + 1);
    limiter.take('k');
    await settled();
    await failed;
    expect(clock.sleeping).toBe(0);
  });

  test('gives back a turn that comes too late', async () => {
    const { limiter, left } = setUp('leaky-bucket 5 1/1s');
    limiter.take('k', { cost: 3 });
    await expect(limiter.wait('k', { maxWait: '2s' })).rejects.toMatchObject({
      code: 'FLOODGATE_WAIT_TOO_LONG',
      retryAfterMs: 3000,
    });
    expect(left()).toBe(2);
  });

  test.each([0, -1, 'soon', Number.NaN])('of %p is refused', async (maxWait) => {
    const { limiter, left } = setUp('5/1m');
    await expect(limiter.wait('k', { maxWait: maxWait as number })).rejects.toThrow(
      'Expected `maxWait` to be a duration',
    );
    expect(left()).toBe(5);
  });
});

test.each([{ maxwait: '1s' }, { costs: 1 }, 5, null])(
  'options of %p are refused, and take nothing',
  async (options) => {
    const { limiter, left } = setUp('5/1m');
    await expect(limiter.wait('k', options as never)).rejects.toMatchObject({
      code: 'FLOODGATE_INVALID_OPTION',
      message: expect.stringContaining('`wait options`'),
    });
    expect(left()).toBe(5);
  },
);

test.each(['5/1m', 'token-bucket 5 1/1s', 'fixed-window 0/1m'])(
  'a cost that is never admitted fails at once: %s',
  async (quota) => {
    const { clock, limiter } = setUp(quota);
    await expect(limiter.wait('k', { cost: 6 })).rejects.toMatchObject({
      code: 'FLOODGATE_NEVER_ADMITTED',
      retryAfterMs: Number.POSITIVE_INFINITY,
      message: expect.stringContaining('`jobs`'),
    });
    expect(clock.sleeping).toBe(0);
  },
);

describe('a signal', () => {
  test('that aborts ends the wait with its reason, and leaves no sleeper', async () => {
    const { clock, limiter, left } = setUp('sliding-window-log 1/1m');
    limiter.take('k');
    const controller = new AbortController();
    const waiting = limiter.wait('k', { signal: controller.signal });
    const failed = expect(waiting).rejects.toThrow('shutting down');
    await settled();
    expect(clock.sleeping).toBe(1);
    controller.abort(new Error('shutting down'));
    await failed;
    expect(clock.sleeping).toBe(0);
    clock.advance(60_000);
    await settled();
    expect(left()).toBe(1);
  });

  test('that has aborted takes nothing', async () => {
    const { limiter, left } = setUp('5/1m');
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(limiter.wait('k', { signal })).rejects.toThrow('too late');
    expect(left()).toBe(5);
  });

  test('that does not abort keeps no listener', async () => {
    const { clock, limiter } = setUp('token-bucket 1 1/1s');
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(signal, args);
    };
    limiter.take('k');
    const waiting = limiter.wait('k', { signal });
    await settled();
    clock.advance(1000);
    await waiting;
    expect(listeners).toBe(0);
  });
});
