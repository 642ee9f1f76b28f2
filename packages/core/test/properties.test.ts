import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Charge, MemoryStore, type Quota, slidingWindowLog } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';
import { costs, KEY, largeQuotas, quotas, steps } from './arbitraries.ts';
import { Oracle } from './oracle.ts';
import { play, type Step } from './timelines.ts';

// Random timelines, on a memory store and on an oracle that works everything out the slow way: every field of every
// decision is the same.

/** More of them when hunting: `RUNS=10000 jest properties`. */
const numRuns = Number(process.env.RUNS ?? 200);

const starts = fc.integer({ min: 1_767_225_600_000, max: 1_767_225_601_000 });

function agree(timeline: readonly Step[], startMs: number): void {
  const clock = new ManualClock(startMs);
  const decisions = play(timeline, { clock, store: new MemoryStore({ clock }) });
  clock.set(startMs);
  expect(decisions).toEqual(play(timeline, { clock, store: new Oracle(clock) }));
}

describe.each([
  { clock: 'that goes ahead', backwards: false },
  { clock: 'that jumps both ways', backwards: true },
])('by a clock $clock', ({ backwards }) => {
  const timelinesOf = (charges: fc.Arbitrary<readonly Charge[]>, policies = ['policy-0']) =>
    fc.array(steps({ charges, policies, backwards }), { minLength: 1, maxLength: 50 });

  test('one subject', () => {
    const timelines = quotas.chain((quota) =>
      timelinesOf(costs.map((cost) => [charge(quota, cost)])),
    );
    fc.assert(fc.property(timelines, starts, agree), { numRuns });
  });

  test('one subject, whose quota changes from call to call', () => {
    const timelines = fc
      .array(quotas, { minLength: 2, maxLength: 3 })
      .chain((several) =>
        timelinesOf(
          fc
            .tuple(fc.constantFrom(...several), costs)
            .map(([quota, cost]) => [charge(quota, cost)]),
        ),
      );
    fc.assert(fc.property(timelines, starts, agree), { numRuns });
  });

  test('groups of several policies, some of them advisory', () => {
    const timelines = fc.array(quotas, { minLength: 2, maxLength: 4 }).chain((several) => {
      const charges = several.map((quota, i) =>
        fc
          .record({ cost: costs, advisory: fc.constantFrom(false, false, false, true) })
          .map(({ cost, advisory }) => ({ ...charge(quota, cost, `policy-${i}`), advisory })),
      );
      const groups = fc
        .tuple(...charges)
        .chain((group) => fc.shuffledSubarray(group, { minLength: 1 }));
      return timelinesOf(
        groups,
        several.map((_, i) => `policy-${i}`),
      );
    });
    fc.assert(fc.property(timelines, starts, agree), { numRuns });
  });

  test('numbers so large that products leave 2^53', () => {
    const timelines = largeQuotas.chain(({ quota, delays, costs }) => {
      const charges = costs.map((cost) => [charge(quota, cost)]);
      // Debts of a window or a bucket end at 2^53, and are left to the small numbers.
      const modes = ['take', 'take', 'take', 'peek'] as const;
      const step = steps({ charges, costs, delays, backwards, modes });
      return fc.array(step, { minLength: 1, maxLength: 30 });
    });
    // So late that no step back comes to a time before 1970.
    const late = fc.constant(1e15);
    fc.assert(fc.property(timelines, late, agree), { numRuns: numRuns / 2 });
  });
});

test('debts of a log whose sum leaves 2^53', () => {
  const most = Number.MAX_SAFE_INTEGER;
  const limits = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: most }));
  const debts = fc.oneof(fc.constantFrom(1, most), fc.integer({ min: 1, max: most }));
  const timelines = limits.chain((limit) => {
    const charges = debts.map((cost) => [charge(slidingWindowLog({ limit, window: 100 }), cost)]);
    const modes = ['take', 'force', 'force'] as const;
    const step = steps({ charges, costs: debts, backwards: false, modes });
    return fc.array(step, { minLength: 1, maxLength: 50 });
  });
  fc.assert(fc.property(timelines, starts, agree), { numRuns });
});

function charge(quota: Quota, cost: number, policy = 'policy-0'): Charge {
  return { policy, key: KEY, quota, cost };
}
