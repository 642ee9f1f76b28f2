import type { Decision } from './decision.ts';
import { runSteps } from './maybe-promise.ts';
import { settleCharge } from './settlement.ts';
import type { Store, TakeOptions } from './store.ts';
import { isAdmitted, type TakenCharge } from './verdict.ts';

/**
 * A take of which a store may say too late what it came to: somebody else has decided by then. What was charged after all
 * is settled like any other charge, at what the request came to use, whichever of the two is known first: nothing, where
 * it was not served.
 */
export class LateTake implements TakeOptions {
  readonly #store: Store;
  readonly #charges: readonly TakenCharge[];
  readonly onRefundFailed: (error: unknown) => void;
  #decisions: readonly Decision[] | undefined;
  /** What each charge came to, by index. */
  readonly #trueCosts: Map<number, number> = new Map();

  constructor(
    store: Store,
    charges: readonly TakenCharge[],
    onRefundFailed: (error: unknown) => void,
  ) {
    this.#store = store;
    this.#charges = charges;
    this.onRefundFailed = onRefundFailed;
  }

  readonly onLate = (decisions: readonly Decision[]): void => {
    if (!isAdmitted(this.#charges, decisions)) return;
    this.#decisions = decisions;
    for (const [index, trueCost] of this.#trueCosts) this.#settle(index, trueCost);
  };

  /** Says what a charge came to. The first time counts. */
  settle(index: number, trueCost: number): void {
    if (this.#trueCosts.has(index)) return;
    this.#trueCosts.set(index, trueCost);
    this.#settle(index, trueCost);
  }

  /** Says that the request is not served. */
  unserved(): void {
    for (const index of this.#charges.keys()) this.settle(index, 0);
  }

  #settle(index: number, trueCost: number): void {
    const decision = this.#decisions?.[index];
    if (decision?.allowed !== true) return;
    const charge = this.#charges[index] as TakenCharge;
    const { atMs } = decision;
    void runSteps(
      settleCharge({ store: this.#store, charge, atMs, onFailed: this.onRefundFailed }, trueCost),
    );
  }
}

/** One charge of a take that may be late, to be settled with the rest of its request. */
export interface LateCharge {
  readonly take: LateTake;
  readonly index: number;
}
