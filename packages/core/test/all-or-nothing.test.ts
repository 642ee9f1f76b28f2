import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Charge, type Decision, limitOf, MemoryStore, type Quota } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';
import { costs, KEY, plainQuotas, steps } from './arbitraries.ts';
import { play, type Step } from './timelines.ts';

// A group that is denied changes nothing, and what is given back is as if it had never been taken: seen from outside,
// by asking at many later times.

interface Past {
  readonly several: readonly Quota[];
  readonly timeline: readonly Step[];
}

const names = ['policy-0', 'policy-1', 'policy-2'];

const pasts: fc.Arbitrary<Past> = fc
  .array(plainQuotas, { minLength: 3, maxLength: 3 })
  .chain((several) => {
    const charges = several.map((quota, i) =>
      costs.map((cost) => [{ policy: names[i] as string, key: KEY, quota, cost }]),
    );
    return fc
      .array(steps({ charges: fc.oneof(...charges), policies: names, backwards: false }), {
        maxLength: 25,
      })
      .map((timeline) => ({ several, timeline }));
  });

const groups = fc.array(costs, { minLength: 3, maxLength: 3 });

/** The store after its past, once more for each way to go on from it. */
function after({ several, timeline }: Past) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  play(timeline, { store, clock });
  const charges = (units: readonly number[]): Charge[] =>
    several.map((quota, i) => ({
      policy: names[i] as string,
      key: KEY,
      quota,
      cost: units[i] as number,
    }));
  /** Everything that can be seen from now on. */
  const future = (): Decision[][] => {
    const seen: Decision[][] = [];
    for (const laterMs of [0, 1, 2, 5, 6, 7, 8, 10, 30, 49, 50, 51, 99, 100, 101, 150, 200, 800]) {
      clock.set(nowMs + laterMs);
      for (const cost of [0, 1, 4]) {
        seen.push(...charges([cost, cost, cost]).map((charge) => store.take([charge], PEEK)));
      }
    }
    clock.set(nowMs);
    return seen;
  };
  const nowMs = clock.now();
  return { clock, store, charges, future };
}

const PEEK = { mode: 'peek' } as const;

describe('a group that is denied', () => {
  test('changes nothing', () => {
    fc.assert(
      fc.property(pasts, groups, (past, units) => {
        const [asked, other] = [after(past), after(past)];
        const decisions = asked.store.take(asked.charges(units));
        fc.pre(decisions.some(({ allowed }) => !allowed));
        expect(asked.future()).toEqual(other.future());
      }),
      { numRuns: 80 },
    );
  });

  test('says of each policy that had room what it has left, uncharged', () => {
    fc.assert(
      fc.property(pasts, groups, (past, units) => {
        const { store, charges } = after(past);
        const left = charges([0, 0, 0]).map((charge) => store.take([charge], PEEK)[0] as Decision);
        const decisions = store.take(charges(units));
        fc.pre(decisions.some(({ allowed }) => !allowed));
        for (const [i, decision] of decisions.entries()) {
          const { remaining, resetAtMs, atMs } = left[i] as Decision;
          expect(decision).toMatchObject({ remaining, resetAtMs, atMs, delayMs: 0 });
          if (decision.allowed) expect(decision.retryAfterMs).toBe(0);
        }
      }),
      { numRuns: 80 },
    );
  });
});

test('a group that is admitted is charged by each policy as if it were alone', () => {
  fc.assert(
    fc.property(pasts, groups, (past, units) => {
      const [together, apart] = [after(past), after(past)];
      const decisions = together.store.take(together.charges(units));
      fc.pre(decisions.every(({ allowed }) => allowed));
      expect(decisions).toEqual(
        apart.charges(units).flatMap((charge) => apart.store.take([charge])),
      );
      expect(together.future()).toEqual(apart.future());
    }),
    { numRuns: 80 },
  );
});

describe('a refund', () => {
  test('of all that was taken, at once, is as if it had not been taken', () => {
    fc.assert(
      fc.property(pasts, groups, (past, units) => {
        // A window from the first request has begun, and that a refund does not undo.
        fc.pre(past.several.every((quota) => !('align' in quota)));
        const [asked, other] = [after(past), after(past)];
        const charges = asked.charges(units);
        const decisions = asked.store.take(charges);
        fc.pre(decisions.every(({ allowed }) => allowed));
        asked.store.refund(
          charges.map((charge, i) => ({ ...charge, atMs: (decisions[i] as Decision).atMs })),
        );
        expect(asked.future()).toEqual(other.future());
      }),
      { numRuns: 80 },
    );
  });

  test('however late and large, leaves at most what there was before, and never more than the limit', () => {
    fc.assert(
      fc.property(pasts, groups, fc.nat({ max: 250 }), costs, (past, units, laterMs, given) => {
        const [asked, other] = [after(past), after(past)];
        const charges = asked.charges(units);
        const decisions = asked.store.take(charges);
        for (const { clock } of [asked, other]) clock.advance(laterMs);
        asked.store.refund(
          charges.map((charge, i) => ({
            ...charge,
            cost: Math.min(given, charge.cost),
            atMs: (decisions[i] as Decision).atMs,
          })),
        );
        const zero = asked.charges([0, 0, 0]);
        for (const [i, charge] of zero.entries()) {
          const [left] = asked.store.take([charge], PEEK) as [Decision];
          const [untouched] = other.store.take([charge], PEEK) as [Decision];
          expect(left.remaining).toBeLessThanOrEqual(limitOf(past.several[i] as Quota));
          if (decisions.every(({ allowed }) => allowed)) {
            expect(left.remaining).toBeLessThanOrEqual(untouched.remaining);
          }
        }
      }),
      { numRuns: 80 },
    );
  });
});
