import type { Charge, Subject } from './store.ts';

/**
 * The subjects whose units are held while another store is asked, and may be given back. A denial that they cause is
 * no misuse, so it starts no block.
 */
export class Reservations {
  readonly #counts: Map<string, number> = new Map();

  /** The charges as they may be taken now: a subject of which units are held cannot be blocked. */
  sparing(charges: readonly Charge[]): readonly Charge[] {
    if (this.#counts.size === 0) return charges;
    return charges.map((charge) => {
      if (charge.quota.blockMs === undefined || !this.#counts.has(idOf(charge))) return charge;
      const { blockMs, ...quota } = charge.quota;
      return { ...charge, quota };
    });
  }

  hold(charges: readonly Charge[]): void {
    for (const charge of charges) {
      if (charge.quota.blockMs === undefined) continue;
      const id = idOf(charge);
      this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    }
  }

  release(charges: readonly Charge[]): void {
    for (const charge of charges) {
      if (charge.quota.blockMs === undefined) continue;
      const id = idOf(charge);
      const left = (this.#counts.get(id) ?? 0) - 1;
      if (left > 0) this.#counts.set(id, left);
      else this.#counts.delete(id);
    }
  }
}

function idOf({ policy, key }: Subject): string {
  return JSON.stringify([policy, key]);
}
