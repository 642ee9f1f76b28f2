import { describe, test } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type Charge } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';
import { Oracle } from './oracle.ts';
import { costs, expectAgreement, KEY, quotas, type Step, steps } from './timelines.ts';

// Random timelines, on a memory store and on an oracle that works everything out the slow way: every field of every
// decision is the same.

const RUNS = Number(process.env['RUNS'] ?? 500);

function agree(timeline: readonly Step[], startMs: number) {
  const clock = new ManualClock(startMs);
  expectAgreement(timeline, { clock, store: new MemoryStore({ clock }), oracle: new Oracle() });
}

const starts = fc.integer({ min: 1_767_225_600_000, max: 1_767_225_601_000 });

describe.each([{ backwards: false }, { backwards: true }])('a clock that steps back: $backwards', (time) => {
  test('one subject, one quota', () => {
    const timelines = quotas.chain((quota) =>
      fc.array(
        steps(
          costs.map((cost) => [{ policy: 'policy', key: KEY, quota, cost }]),
          ['policy'],
          time,
        ),
        { minLength: 1, maxLength: 50 },
      ),
    );
    fc.assert(fc.property(timelines, starts, agree), { numRuns: RUNS });
  });

  test('one subject, whose quota changes', () => {
    const timelines = fc.array(quotas, { minLength: 2, maxLength: 3 }).chain((several) =>
      fc.array(
        steps(
          fc
            .record({ quota: fc.constantFrom(...several), cost: costs })
            .map((charge) => [{ policy: 'policy', key: KEY, ...charge }]),
          ['policy'],
          time,
        ),
        { minLength: 1, maxLength: 50 },
      ),
    );
    fc.assert(fc.property(timelines, starts, agree), { numRuns: RUNS });
  });

  test('groups', () => {
    const timelines = fc.array(quotas, { minLength: 2, maxLength: 4 }).chain((several) => {
      const charge = (i: number): fc.Arbitrary<Charge> =>
        fc.record({
          policy: fc.constant(`policy-${i}`),
          key: fc.constant(KEY),
          quota: fc.constant(several[i] as Charge['quota']),
          cost: costs,
          advisory: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
        });
      const groups = fc
        .tuple(...several.map((_, i) => charge(i)))
        .chain((all) => fc.shuffledSubarray(all, { minLength: 1 }));
      return fc.array(steps(groups, several.map((_, i) => `policy-${i}`), time), {
        minLength: 1,
        maxLength: 40,
      });
    });
    fc.assert(fc.property(timelines, starts, agree), { numRuns: RUNS });
  });
});
