import type { Store } from '../store.ts';
import type { ManualClock } from './manual-clock.ts';

/** What the suite works with: a store that holds nothing yet, and the clock that it goes by. */
export interface ContractSetup {
  readonly store: Store;
  readonly clock: ManualClock;
}

/** One thing that a store must do. */
export interface ContractCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}

export function storeContract(
  _setUp: () => ContractSetup | Promise<ContractSetup>,
): readonly ContractCase[] {
  return [];
}
