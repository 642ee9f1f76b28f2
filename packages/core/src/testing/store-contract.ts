import type { Store } from '../store.ts';
import { AGREEMENT_RULES } from './contract-agreement.ts';
import { Bench, type Rule } from './contract-bench.ts';
import { CHANGE_RULES } from './contract-changes.ts';
import { STATE_RULES } from './contract-states.ts';
import { TAKE_RULES } from './contract-takes.ts';
import { TIMELINE_RULES } from './contract-timelines.ts';
import type { ManualClock } from './manual-clock.ts';

/** What the suite works with: a store that holds nothing yet, and the clock that it goes by. */
export interface ContractSetup {
  readonly store: Store;
  readonly clock: ManualClock;
}

/** One thing that a store must do. */
export interface ContractCase {
  readonly name: string;
  /** Rejects with an error that says what was expected and what was got. */
  readonly run: () => Promise<void>;
}

/**
 * What every store must do, as cases for any test runner. Each sets up a store of its own, and closes it.
 *
 * @example
 * const cases = storeContract(() => {
 *   const clock = new ManualClock();
 *   return { clock, store: new MyStore({ clock }) };
 * });
 * for (const { name, run } of cases) test(name, run);
 */
export function storeContract(
  setUp: () => ContractSetup | Promise<ContractSetup>,
): readonly ContractCase[] {
  return ALL_RULES.map(([name, prove]) => ({
    name,
    run: async () => {
      const { store, clock } = await setUp();
      try {
        await prove(new Bench(store, clock));
      } finally {
        await store.close();
      }
    },
  }));
}

const ALL_RULES: readonly Rule[] = [
  ...TIMELINE_RULES,
  ...TAKE_RULES,
  ...STATE_RULES,
  ...CHANGE_RULES,
  ...AGREEMENT_RULES,
];
