import type { Charge, Decision, MemoryStore, Refund, TakeMode } from '../src/index.ts';
import type { ManualClock } from '../src/testing/index.ts';
import { KEY } from './arbitraries.ts';
import type { Oracle } from './oracle.ts';

/** One call to a store, some time after the one before. */
export type Step = { readonly afterMs: number } & (
  | { readonly call: 'take'; readonly mode: TakeMode; readonly charges: readonly Charge[] }
  /** Of a charge made before: which, counted back from the last. */
  | { readonly call: 'refund'; readonly back: number; readonly cost: number }
  | { readonly call: 'block'; readonly policy: string; readonly durationMs: number }
  | { readonly call: 'reset'; readonly policy: string }
);

/** Runs a timeline on a store; answers the decisions of each take. */
export function play(
  timeline: readonly Step[],
  { store, clock }: { store: MemoryStore | Oracle; clock: ManualClock },
): Decision[][] {
  const taken: Refund[] = [];
  const answers: Decision[][] = [];
  for (const step of timeline) {
    clock.advance(step.afterMs);
    switch (step.call) {
      case 'take': {
        const decisions = store.take(step.charges, step);
        answers.push(decisions);
        for (const [i, charge] of step.charges.entries()) {
          taken.push({ ...charge, atMs: (decisions[i] as Decision).atMs });
        }
        break;
      }
      case 'refund': {
        const refund = taken.at(-1 - step.back);
        if (refund !== undefined) store.refund([{ ...refund, cost: step.cost }]);
        break;
      }
      case 'block':
        store.block([{ policy: step.policy, key: KEY }], step.durationMs);
        break;
      case 'reset':
        store.reset([{ policy: step.policy, key: KEY }]);
    }
  }
  return answers;
}
