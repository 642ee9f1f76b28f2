import type { ChargeLog } from './algorithms/charge-log.ts';

/**
 * A table of rows, each reached by its slot. Its numbers lie in memory that the garbage collector does not walk; it
 * grows block by block, so that nothing is ever copied; a freed row is used again. Two doubles and six whole numbers
 * make a row, and two of the latter chain it into a ring; columns that few algorithms need are there only where one
 * does.
 */
export class Rows {
  /** Of each block, row after row. */
  readonly doubles: Float64Array[] = [];
  /** The same memory, as whole numbers of 32 bits. */
  readonly ints: Int32Array[] = [];
  readonly #earlier: (Float64Array | undefined)[] = [];
  readonly #logs: ((ChargeLog | undefined)[] | undefined)[] = [];
  readonly #keys: string[][] = [];
  readonly #free: number[] = [];
  #next = 0;

  /** How many slots there are, the free ones among them. */
  get length(): number {
    return this.#next;
  }

  /** A slot whose row is empty but for the key. */
  take(key: string): number {
    const slot = this.#free.pop() ?? this.#next++;
    const block = slot >> BLOCK_BITS;
    if (block === this.doubles.length) {
      const doubles = new Float64Array(BLOCK_SLOTS * ROW_DOUBLES);
      this.doubles.push(doubles);
      this.ints.push(new Int32Array(doubles.buffer));
      this.#earlier.push(undefined);
      this.#logs.push(undefined);
      this.#keys.push(new Array<string>(BLOCK_SLOTS).fill(''));
    }
    (this.doubles[block] as Float64Array)[rowAt(slot) + AT_MS] = Number.NEGATIVE_INFINITY;
    (this.#keys[block] as string[])[slot & SLOT_MASK] = key;
    return slot;
  }

  free(slot: number): void {
    const block = slot >> BLOCK_BITS;
    (this.doubles[block] as Float64Array).fill(0, rowAt(slot), rowAt(slot) + ROW_DOUBLES);
    this.setEarlier(slot, 0);
    this.setLog(slot, undefined);
    (this.#keys[block] as string[])[slot & SLOT_MASK] = '';
    this.#free.push(slot);
  }

  keyOf(slot: number): string {
    return (this.#keys[slot >> BLOCK_BITS] as string[])[slot & SLOT_MASK] as string;
  }

  earlierOf(slot: number): number {
    return this.#earlier[slot >> BLOCK_BITS]?.[slot & SLOT_MASK] ?? 0;
  }

  setEarlier(slot: number, value: number): void {
    const block = slot >> BLOCK_BITS;
    let column = this.#earlier[block];
    if (column === undefined) {
      if (value === 0) return;
      column = new Float64Array(BLOCK_SLOTS);
      this.#earlier[block] = column;
    }
    column[slot & SLOT_MASK] = value;
  }

  logOf(slot: number): ChargeLog | undefined {
    return this.#logs[slot >> BLOCK_BITS]?.[slot & SLOT_MASK];
  }

  setLog(slot: number, log: ChargeLog | undefined): void {
    const block = slot >> BLOCK_BITS;
    let column = this.#logs[block];
    if (column === undefined) {
      if (log === undefined) return;
      column = new Array<ChargeLog | undefined>(BLOCK_SLOTS).fill(undefined);
      this.#logs[block] = column;
    }
    column[slot & SLOT_MASK] = log;
  }

  int(slot: number, field: number): number {
    return (this.ints[slot >> BLOCK_BITS] as Int32Array)[rowAt(slot) * 2 + field] as number;
  }

  setInt(slot: number, field: number, value: number): void {
    (this.ints[slot >> BLOCK_BITS] as Int32Array)[rowAt(slot) * 2 + field] = value;
  }

  flag(slot: number, flag: number, on: boolean): void {
    const flags = this.int(slot, FLAGS);
    this.setInt(slot, FLAGS, on ? flags | flag : flags & ~flag);
  }

  /** Adds a slot at the end of the ring that begins at `first`; returns the ring's first. */
  link(slot: number, first: number): number {
    if (first === NONE) {
      this.setInt(slot, NEXT, slot);
      this.setInt(slot, PREVIOUS, slot);
      return slot;
    }
    const last = this.int(first, PREVIOUS);
    this.setInt(last, NEXT, slot);
    this.setInt(slot, PREVIOUS, last);
    this.setInt(slot, NEXT, first);
    this.setInt(first, PREVIOUS, slot);
    return first;
  }

  /** Takes a slot out of the ring that begins at `first`; returns the ring's first. */
  unlink(slot: number, first: number): number {
    const next = this.int(slot, NEXT);
    if (next === slot) return NONE;
    const previous = this.int(slot, PREVIOUS);
    this.setInt(previous, NEXT, next);
    this.setInt(next, PREVIOUS, previous);
    return first === slot ? next : first;
  }
}

/** No slot; an empty ring. */
export const NONE = -1;

/** 2,048 rows of 40 bytes: little for a small store, and few blocks for a large one. */
export const BLOCK_BITS = 11;
const BLOCK_SLOTS = 1 << BLOCK_BITS;
const SLOT_MASK = BLOCK_SLOTS - 1;

const ROW_DOUBLES = 5;

export const AT_MS = 0;
export const USED = 1;
export const KIND = 4;
export const FLAGS = 5;
export const EMPTY_AT_S = 6;
export const GUARDED_UNTIL_S = 7;
const PREVIOUS = 8;
export const NEXT = 9;

/** Where a slot's row begins among the doubles of its block; among the whole numbers, twice as far. */
export function rowAt(slot: number): number {
  return (slot & SLOT_MASK) * ROW_DOUBLES;
}
