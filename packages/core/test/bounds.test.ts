import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Decision,
  fixedWindow,
  leakyBucket,
  MemoryStore,
  type Quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';
import { costs, smallDelays } from './arbitraries.ts';

// What each algorithm guarantees, whatever comes and whenever.

interface Request {
  readonly afterMs: number;
  readonly cost: number;
}

interface Admitted {
  readonly atMs: number;
  readonly cost: number;
  readonly delayMs: number;
}

/** Requests of one client, from a trickle to a flood. */
const traffic: fc.Arbitrary<Request[]> = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.constant(1), smallDelays({ backwards: false })),
    cost: costs,
  }),
  { maxLength: 120 },
);
const limits = fc.integer({ min: 1, max: 8 });
const windows = fc.constantFrom(1, 7, 10, 50, 100);
const rates = fc.integer({ min: 1, max: 13 });

function admittedOf(quota: Quota, requests: readonly Request[]): Admitted[] {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const admitted: Admitted[] = [];
  for (const { afterMs, cost } of requests) {
    clock.advance(afterMs);
    const [decision] = store.take([{ policy: 'p', key: 'k', quota, cost }]) as [Decision];
    if (decision.allowed) admitted.push({ ...decision, cost });
  }
  return admitted;
}

/** The most units that were admitted in a span: from any admitted charge on, which is where the most begin. */
function mostIn(spanMs: number, admitted: readonly Admitted[]): number {
  let most = 0;
  for (const [i, { atMs }] of admitted.entries()) {
    let units = 0;
    for (let j = i; j < admitted.length && (admitted[j] as Admitted).atMs < atMs + spanMs; j += 1) {
      units += (admitted[j] as Admitted).cost;
    }
    most = Math.max(most, units);
  }
  return most;
}

/** The most units that were admitted in one of the windows that follow the clock. */
function mostInAlignedWindow(windowMs: number, admitted: readonly Admitted[]): number {
  const units = new Map<number, number>();
  for (const { atMs, cost } of admitted) {
    const window = Math.floor(atMs / windowMs);
    units.set(window, (units.get(window) ?? 0) + cost);
  }
  return Math.max(0, ...units.values());
}

describe('never more is admitted than', () => {
  test('a sliding window log: the limit in any span of one window', () => {
    fc.assert(
      fc.property(limits, windows, traffic, (limit, window, requests) => {
        const admitted = admittedOf(slidingWindowLog({ limit, window }), requests);
        expect(mostIn(window, admitted)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test.each(['clock', 'first-request'] as const)(
    'a fixed window (%s): twice the limit in a span of one window',
    (align) => {
      fc.assert(
        fc.property(limits, windows, traffic, (limit, window, requests) => {
          const admitted = admittedOf(fixedWindow({ limit, window, align }), requests);
          expect(mostIn(window, admitted)).toBeLessThanOrEqual(2 * limit);
        }),
      );
    },
  );

  test('a fixed window: the limit in each window of the clock', () => {
    fc.assert(
      fc.property(limits, windows, traffic, (limit, window, requests) => {
        const admitted = admittedOf(fixedWindow({ limit, window }), requests);
        expect(mostInAlignedWindow(window, admitted)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test('a sliding window counter: the limit in each window of the clock, twice the limit in any other', () => {
    fc.assert(
      fc.property(limits, windows, traffic, (limit, window, requests) => {
        const admitted = admittedOf(slidingWindowCounter({ limit, window }), requests);
        expect(mostInAlignedWindow(window, admitted)).toBeLessThanOrEqual(limit);
        expect(mostIn(window, admitted)).toBeLessThanOrEqual(2 * limit);
      }),
    );
  });

  test('a bucket: its capacity and what comes back, in any span', () => {
    fc.assert(
      fc.property(limits, rates, windows, traffic, (capacity, rate, per, requests) => {
        for (const quota of [
          tokenBucket({ capacity, refillRate: rate, per }),
          leakyBucket({ capacity, leakRate: rate, per }),
        ]) {
          const admitted = admittedOf(quota, requests);
          for (const spanMs of [1, per, 3 * per, 1000]) {
            // From the first to the last moment of the span are spanMs - 1 milliseconds.
            const parts = capacity * per + rate * (spanMs - 1);
            expect(mostIn(spanMs, admitted) * per).toBeLessThanOrEqual(parts);
          }
        }
      }),
    );
  });
});

describe('a steady flood gets all that is promised', () => {
  /** One unit each millisecond for 20 windows. */
  const flood: Request[] = Array.from({ length: 2000 }, () => ({ afterMs: 1, cost: 1 }));

  test.each([
    { quota: fixedWindow({ limit: 7, window: 100 }), most: 20 * 7 + 7 },
    { quota: slidingWindowLog({ limit: 7, window: 100 }), most: 20 * 7 },
    { quota: slidingWindowCounter({ limit: 7, window: 100 }), most: 20 * 7 + 7 },
    { quota: tokenBucket({ capacity: 7, refillRate: 7, per: 100 }), most: 20 * 7 + 7 },
    { quota: leakyBucket({ capacity: 7, leakRate: 7, per: 100 }), most: 20 * 7 + 7 },
  ])(
    '$quota.algorithm admits its limit in each window, no denial lessens it',
    ({ quota, most }) => {
      const units = admittedOf(quota, flood).length;
      expect(units).toBeGreaterThanOrEqual(20 * 7 - 7);
      expect(units).toBeLessThanOrEqual(most);
    },
  );
});

test('a shaped leaky bucket serves at its rate: each turn comes a whole charge after the one before', () => {
  fc.assert(
    fc.property(limits, rates, windows, traffic, (capacity, leakRate, per, requests) => {
      const admitted = admittedOf(leakyBucket({ capacity, leakRate, per }), requests);
      const turns = admitted.filter(({ cost }) => cost > 0);
      for (const [i, { atMs, delayMs }] of turns.entries()) {
        const before = turns[i - 1];
        if (before === undefined) continue;
        const apartMs = atMs + delayMs - (before.atMs + before.delayMs);
        expect(apartMs).toBeGreaterThanOrEqual(Math.floor((before.cost * per) / leakRate));
      }
    }),
  );
});

test('any rate from 1 to 1000 per second admits exactly after the time that it tells', () => {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  for (let rate = 1; rate <= 1000; rate += 1) {
    const quota = tokenBucket({ capacity: 1, refillRate: rate });
    const take = (): Decision =>
      store.take([{ policy: 'p', key: `k${rate}`, quota, cost: 1 }])[0] as Decision;
    expect(take().allowed).toBe(true);
    const { retryAfterMs } = take();
    expect(retryAfterMs).toBe(Math.ceil(1000 / rate));
    clock.advance(retryAfterMs - 1);
    expect(take().allowed).toBe(false);
    clock.advance(1);
    expect(take().allowed).toBe(true);
  }
});

describe('a bucket of 7 a second drifts by no unit', () => {
  const quota = tokenBucket({ capacity: 30_000, refillRate: 7 });

  test.each([
    { span: 'a year', stepMs: 3_600_001, steps: 365 * 24 },
    { span: '3 days', stepMs: 13_337, steps: 20_000 },
    { span: '45 minutes', stepMs: 137, steps: 20_000 },
  ])('over $span, taken empty every $stepMs ms', ({ stepMs, steps }) => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const take = (cost: number): Decision =>
      store.take([{ policy: 'p', key: 'k', quota, cost }])[0] as Decision;
    let units = 0;
    for (let step = 0; step <= steps; step += 1) {
      const { remaining } = take(0);
      if (take(remaining).allowed) units += remaining;
      clock.advance(stepMs);
    }
    const refilled = (BigInt(stepMs) * BigInt(steps) * 7n) / 1000n;
    expect(BigInt(units)).toBe(30_000n + refilled);
  });

  test('fifty thousand requests of one unit take fifty thousand sevenths of a second', () => {
    const clock = new ManualClock();
    const startMs = clock.now();
    const store = new MemoryStore({ clock });
    const burst = tokenBucket({ capacity: 7, refillRate: 7 });
    for (let taken = 0; taken < 50_000; ) {
      const [decision] = store.take([{ policy: 'p', key: 'k', quota: burst, cost: 1 }]);
      if (decision?.allowed) taken += 1;
      else clock.advance(decision?.retryAfterMs as number);
    }
    expect(clock.now() - startMs).toBe(Math.ceil(((50_000 - 7) * 1000) / 7));
  });
});
