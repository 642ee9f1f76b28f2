import type { Charge } from '@floodgate/core';
import { widthOf } from '@floodgate/core/internal';

/** What of a call is in one slot: charges, what is given back, or subjects. */
export interface Part<C = Charge> {
  readonly slot: number;
  readonly charges: C[];
  readonly keys: string[];
  /** Where they stand among all. */
  readonly indexes: number[];
}

export function partsOf<C>(
  charges: readonly C[],
  keys: readonly string[],
  slotOf: (key: string) => number,
): Part<C>[] {
  const parts = new Map<number, Part<C>>();
  for (const [index, key] of keys.entries()) {
    const slot = slotOf(key);
    let part = parts.get(slot);
    if (part === undefined) {
      part = { slot, charges: [], keys: [], indexes: [] };
      parts.set(slot, part);
    }
    part.charges.push(charges[index] as C);
    part.keys.push(key);
    part.indexes.push(index);
  }
  return [...parts.values()];
}

/** Those of a part that are chosen, each in a part of its own. */
export function aloneOf<C>(
  { slot, charges, keys, indexes }: Part<C>,
  isChosen: (index: number) => boolean = () => true,
): Part<C>[] {
  return charges.flatMap((charge, i) =>
    isChosen(i)
      ? { slot, charges: [charge], keys: [keys[i] as string], indexes: [indexes[i] as number] }
      : [],
  );
}

/** The widest last: units held there for a moment are missed by the most clients. */
export function byWidth(parts: readonly Part[]): Part[] {
  return [...parts].sort((a, b) => widthOf(a.charges) - widthOf(b.charges));
}
