import { addUpToSafe } from './exact.ts';

/**
 * The times and costs of admitted charges, oldest first: a value. Adding makes a new one that shares the ring of
 * entries with the old one and writes only where the old one does not look, so that a charge whose group is denied leaves
 * no trace. Adding costs O(1), on average: now and then the entries move to a larger ring.
 */
export class ChargeLog {
  static readonly empty: ChargeLog = new ChargeLog([], 0, 0);

  /** Time and cost in turn; its length is a power of two (or 0). */
  readonly #ring: number[];
  readonly #first: number;
  readonly #count: number;

  private constructor(ring: number[], first: number, count: number) {
    this.#ring = ring;
    this.#first = first;
    this.#count = count;
  }

  get length(): number {
    return this.#count;
  }

  timeAt(index: number): number {
    return this.#ring[this.#at(index)] as number;
  }

  costAt(index: number): number {
    return this.#ring[this.#at(index) + 1] as number;
  }

  /** The units of all charges but the oldest `first`, held at 2^53 - 1. */
  unitsFrom(first: number): number {
    let units = 0;
    for (let i = first; i < this.#count; i += 1) units = addUpToSafe(units, this.costAt(i));
    return units;
  }

  /** The log without its oldest `dropped` charges, with one more charge at its end. */
  add(dropped: number, atMs: number, cost: number): ChargeLog {
    if (this.#count * 2 === this.#ring.length) {
      return ChargeLog.#from(this.#entries(dropped)).add(0, atMs, cost);
    }
    const end = this.#at(this.#count);
    this.#ring[end] = atMs;
    this.#ring[end + 1] = cost;
    return new ChargeLog(this.#ring, this.#at(dropped), this.#count - dropped + 1);
  }

  /** The log with up to `cost` units of the charges made at `atMs` taken out, and how many units those were. */
  without(atMs: number, cost: number): { readonly log: ChargeLog; readonly units: number } {
    const newest = this.#count - 1;
    if (newest >= 0 && this.timeAt(newest) === atMs && this.costAt(newest) === cost) {
      // What is given back is most often what was taken last: then nothing has to be copied.
      return { log: new ChargeLog(this.#ring, this.#first, newest), units: cost };
    }
    const kept: number[] = [];
    let left = cost;
    for (let i = 0; i < this.#count; i += 1) {
      const taken = this.timeAt(i) === atMs ? Math.min(left, this.costAt(i)) : 0;
      left -= taken;
      if (taken < this.costAt(i)) kept.push(this.timeAt(i), this.costAt(i) - taken);
    }
    return { log: ChargeLog.#from(kept), units: cost - left };
  }

  /** Time and cost in turn, without the oldest `dropped`. */
  #entries(dropped: number): number[] {
    const entries: number[] = [];
    for (let i = dropped; i < this.#count; i += 1) entries.push(this.timeAt(i), this.costAt(i));
    return entries;
  }

  /** A log with a ring of its own, and room to spare: a log at its limit must not be copied at each charge. */
  static #from(entries: readonly number[]): ChargeLog {
    let length = 8;
    while (length < entries.length * 1.25 + 4) length *= 2;
    const ring = new Array<number>(length).fill(0);
    for (const [index, value] of entries.entries()) ring[index] = value;
    return new ChargeLog(ring, 0, entries.length / 2);
  }

  #at(index: number): number {
    return (this.#first + index * 2) & (this.#ring.length - 1);
  }
}
