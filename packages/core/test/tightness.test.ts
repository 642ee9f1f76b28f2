import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Decision, limitOf, MemoryStore, type Quota } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';
import { costs, KEY, quotas, steps } from './arbitraries.ts';
import { play, type Step } from './timelines.ts';

// The numbers of a decision are tight on both sides. The store itself is the witness: the same timeline is played
// again, and what the number says is tried out.

interface Past {
  readonly quota: Quota;
  readonly timeline: readonly Step[];
}

const pasts: fc.Arbitrary<Past> = quotas.chain((quota) =>
  fc
    .array(
      steps({
        charges: costs.map((cost) => [{ policy: 'policy-0', key: KEY, quota, cost }]),
        backwards: false,
      }),
      { maxLength: 25 },
    )
    .map((timeline) => ({ quota, timeline })),
);

/** The subject after its past, once more for each question that is asked of it. */
function after({ quota, timeline }: Past) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  play(timeline, { store, clock });
  const take = (cost: number): Decision =>
    store.take([{ policy: 'policy-0', key: KEY, quota, cost }])[0] as Decision;
  return { clock, store, take };
}

test('retryAfterMs: a millisecond before it the cost is denied, at it it is admitted', () => {
  fc.assert(
    fc.property(pasts, costs, (past, cost) => {
      const now = after(past);
      const denied = now.take(cost);
      fc.pre(!denied.allowed && past.quota.blockMs === undefined);
      const { retryAfterMs } = denied;
      if (retryAfterMs === Number.POSITIVE_INFINITY) {
        expect(limitOf(past.quota) === 0 || cost > limitOf(past.quota)).toBe(true);
        now.clock.advance(1e12);
        expect(now.take(cost).allowed).toBe(false);
        return;
      }
      expect(retryAfterMs).toBeGreaterThan(0);
      now.clock.advance(retryAfterMs - 1);
      expect(now.take(cost).allowed).toBe(false);
      now.clock.advance(1);
      expect(now.take(cost).allowed).toBe(true);

      const later = after(past);
      later.clock.advance(retryAfterMs);
      expect(later.take(cost).allowed).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test('remaining: that cost is admitted, one more is not; nor are more requests of one unit', () => {
  fc.assert(
    fc.property(pasts, costs, (past, cost) => {
      const { remaining, limit, blocked } = after(past).take(cost);
      expect(remaining).toBeLessThanOrEqual(limit);

      const [least, most] = [after(past), after(past)];
      expect(least.take(cost).remaining).toBe(remaining);
      most.take(cost);
      if (remaining > 0) expect(least.take(remaining).allowed).toBe(true);
      expect(most.take(remaining + 1).allowed).toBe(false);

      const single = after(past);
      single.take(cost);
      for (let unit = 0; unit < remaining; unit += 1) expect(single.take(1).allowed).toBe(true);
      expect(single.take(1).allowed).toBe(false);
      if (blocked) expect(remaining).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test('resetAtMs: all is there at it, and a millisecond before it was not', () => {
  fc.assert(
    fc.property(pasts, costs, (past, cost) => {
      const now = after(past);
      const { resetAtMs, atMs, limit } = now.take(cost);
      // Of a limit of 0 there is nothing to come back, but a block to wait for.
      fc.pre(limit > 0);
      expect(resetAtMs).toBeGreaterThanOrEqual(atMs);
      const byClock = past.quota.algorithm === 'fixed-window' && past.quota.align === undefined;
      if (resetAtMs > atMs && !byClock) {
        now.clock.set(resetAtMs - 1);
        expect(now.take(0).remaining).toBeLessThan(limit);
      }
      now.clock.set(resetAtMs);
      expect(now.take(0).remaining).toBe(limit);
      expect(now.take(limit).allowed).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test('a peek answers what the take after it answers, and changes nothing', () => {
  fc.assert(
    fc.property(pasts, costs, costs, (past, cost, other) => {
      const { store, take } = after(past);
      for (const peeked of [other, cost]) {
        const charge = { policy: 'policy-0', key: KEY, quota: past.quota, cost: peeked };
        const [decision] = store.take([charge], { mode: 'peek' });
        if (peeked === cost) expect(take(cost)).toEqual(decision);
      }
      expect(after(past).take(cost)).toMatchObject({ allowed: expect.any(Boolean) });
    }),
    { numRuns: 150 },
  );
});

test('a charge of 0 changes nothing', () => {
  fc.assert(
    fc.property(pasts, costs, fc.nat({ max: 200 }), (past, cost, laterMs) => {
      const [asked, other] = [after(past), after(past)];
      asked.take(0);
      asked.clock.advance(laterMs);
      other.clock.advance(laterMs);
      expect(asked.take(cost)).toEqual(other.take(cost));
    }),
    { numRuns: 150 },
  );
});
