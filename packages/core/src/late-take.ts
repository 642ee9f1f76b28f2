import type { Decision } from './decision.ts';
import type { Charge, Store, TakeOptions } from './store.ts';
import { isAdmitted } from './verdict.ts';

/**
 * A take of which a store may say too late what it came to. Somebody else has decided by then. If the request is served,
 * what was charged after all stands; if it is not, it is given back, whichever is known first.
 */
export class LateTake implements TakeOptions {
  readonly #store: Store;
  readonly #charges: readonly Charge[];
  readonly #onFailed: (error: unknown) => void;
  #decisions: readonly Decision[] | undefined;
  #isUnserved = false;

  constructor(store: Store, charges: readonly Charge[], onFailed: (error: unknown) => void) {
    this.#store = store;
    this.#charges = charges;
    this.#onFailed = onFailed;
  }

  readonly onLate = (decisions: readonly Decision[]): void => {
    this.#decisions = decisions;
    if (this.#isUnserved) this.#giveBack(decisions);
  };

  readonly onUnserved = (): void => {
    if (this.#isUnserved) return;
    this.#isUnserved = true;
    if (this.#decisions !== undefined) this.#giveBack(this.#decisions);
  };

  #giveBack(decisions: readonly Decision[]): void {
    if (!isAdmitted(this.#charges, decisions)) return;
    const refunds = this.#charges.flatMap((charge, index) => {
      const { allowed, atMs } = decisions[index] as Decision;
      return allowed && charge.cost > 0 ? [{ ...charge, atMs }] : [];
    });
    Promise.resolve(this.#store.refund(refunds)).catch(this.#onFailed);
  }
}
