import { expect } from '@jest/globals';
import fc from 'fast-check';
import {
  type Charge,
  type Decision,
  fixedWindow,
  leakyBucket,
  type MemoryStore,
  type Quota,
  type Refund,
  slidingWindowCounter,
  slidingWindowLog,
  type TakeMode,
  tokenBucket,
} from '../src/index.ts';
import type { ManualClock } from '../src/testing/index.ts';
import type { Oracle } from './oracle.ts';

/** One call to a store, some time after the one before. */
export type Step = { readonly afterMs: number } & (
  | { readonly call: 'take'; readonly mode: TakeMode; readonly charges: readonly Charge[] }
  /** Of a decision made before: which, counted back from the last. */
  | { readonly call: 'refund'; readonly back: number; readonly cost: number }
  | { readonly call: 'block'; readonly policy: string; readonly durationMs: number }
  | { readonly call: 'reset'; readonly policy: string }
);

/** Quotas so small that a timeline of some steps fills and empties them many times. */
export const quotas: fc.Arbitrary<Quota> = fc.oneof(
  withBlock(
    fc.record({
      limit: smallLimits(),
      window: smallTimes(),
      align: fc.constantFrom<('clock' | 'first-request')[]>('clock', 'first-request'),
    }),
  ).map(fixedWindow),
  withBlock(fc.record({ limit: smallLimits(), window: smallTimes() })).map(slidingWindowLog),
  withBlock(fc.record({ limit: smallLimits(), window: smallTimes() })).map(slidingWindowCounter),
  withBlock(
    fc.record({ capacity: smallLimits(), refillRate: fc.integer({ min: 1, max: 13 }), per: smallTimes() }),
  ).map(tokenBucket),
  withBlock(
    fc.record({
      capacity: smallLimits(),
      leakRate: fc.integer({ min: 1, max: 13 }),
      per: smallTimes(),
      shape: fc.boolean(),
    }),
  ).map(leakyBucket),
);

export const costs: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(1) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 9 }) },
);

/** How time goes on: mostly a little, at times by windows; with `backwards`, back as well. */
export function delays({ backwards }: { backwards: boolean }): fc.Arbitrary<number> {
  const ahead = [
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 12 }) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 150 }) },
    { weight: 1, arbitrary: fc.constantFrom(1_000, 100_000) },
  ];
  const back = [
    { weight: 2, arbitrary: fc.integer({ min: -60, max: -1 }) },
    { weight: 2, arbitrary: fc.integer({ min: -700, max: -1 }) },
    { weight: 1, arbitrary: fc.constantFrom(-1_000, -100_000) },
  ];
  return fc.oneof(...(backwards ? [...ahead, ...back] : ahead));
}

export function steps(
  charges: fc.Arbitrary<readonly Charge[]>,
  policies: readonly string[],
  time: { backwards: boolean },
): fc.Arbitrary<Step> {
  const afterMs = delays(time);
  const policy = fc.constantFrom(...policies);
  return fc.oneof(
    {
      weight: 16,
      arbitrary: fc.record({ afterMs, call: fc.constant('take' as const), mode: modes, charges }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        afterMs,
        call: fc.constant('refund' as const),
        back: fc.nat({ max: 4 }),
        cost: fc.integer({ min: 0, max: 9 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        afterMs,
        call: fc.constant('block' as const),
        policy,
        durationMs: fc.constantFrom(0, 20, 300),
      }),
    },
    { weight: 1, arbitrary: fc.record({ afterMs, call: fc.constant('reset' as const), policy }) },
  );
}

/** Runs a timeline on a store and on the oracle, and expects the same of both at every step. */
export function expectAgreement(
  timeline: readonly Step[],
  { store, clock, oracle }: { store: MemoryStore; clock: ManualClock; oracle: Oracle },
): void {
  const taken: Refund[] = [];
  for (const step of timeline) {
    clock.advance(step.afterMs);
    oracle.nowMs = clock.now();
    switch (step.call) {
      case 'take': {
        const expected = oracle.take(step.charges, step);
        const decisions = store.take(step.charges, step);
        expect(decisions).toEqual(expected);
        for (const [i, charge] of step.charges.entries()) {
          taken.push({ ...charge, atMs: (decisions[i] as Decision).atMs });
        }
        break;
      }
      case 'refund': {
        const refund = taken.at(-1 - step.back);
        if (refund === undefined) break;
        oracle.refund([{ ...refund, cost: step.cost }]);
        store.refund([{ ...refund, cost: step.cost }]);
        break;
      }
      case 'block':
        oracle.block([{ policy: step.policy, key: KEY }], step.durationMs);
        store.block([{ policy: step.policy, key: KEY }], step.durationMs);
        break;
      case 'reset':
        oracle.reset([{ policy: step.policy, key: KEY }]);
        store.reset([{ policy: step.policy, key: KEY }]);
    }
  }
}

export const KEY = 'key';

const modes = fc.oneof(
  { weight: 8, arbitrary: fc.constant<TakeMode>('take') },
  { weight: 1, arbitrary: fc.constant<TakeMode>('peek') },
  { weight: 1, arbitrary: fc.constant<TakeMode>('force') },
);

function smallLimits(): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 8 }) },
    { weight: 1, arbitrary: fc.constant(0) },
  );
}

function smallTimes(): fc.Arbitrary<number> {
  return fc.constantFrom(1, 7, 10, 50, 100);
}

function withBlock<T extends object>(options: fc.Arbitrary<T>): fc.Arbitrary<T & { blockFor?: number }> {
  const blocks = fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.constantFrom({ blockFor: 5 }, { blockFor: 30 }, { blockFor: 200 }) },
  );
  return fc.tuple(options, blocks).map(([own, block]) => ({ ...own, ...block }));
}
