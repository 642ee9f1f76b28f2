/**
 * The times and costs of admitted charges, oldest first: a value. Adding makes a new one that shares the ring of
 * entries with the old one and writes only where the old one does not look, so that a charge that its group takes
 * back leaves no trace, and adding costs O(1).
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

  /** The units of all its charges. O(n). */
  get units(): number {
    let units = 0;
    for (let i = 0; i < this.#count; i += 1) units += this.costAt(i);
    return units;
  }

  timeAt(index: number): number {
    return this.#ring[this.#at(index)] as number;
  }

  costAt(index: number): number {
    return this.#ring[this.#at(index) + 1] as number;
  }

  /** The log without its oldest `dropped` charges, with one more charge at its end. */
  add(dropped: number, atMs: number, cost: number): ChargeLog {
    const count = this.#count - dropped;
    if (this.#count * 2 >= this.#ring.length) return this.#copy(dropped).add(0, atMs, cost);
    const end = this.#at(this.#count);
    this.#ring[end] = atMs;
    this.#ring[end + 1] = cost;
    return new ChargeLog(this.#ring, this.#at(dropped), count + 1);
  }

  /** The log with up to `cost` units of the charges made at `atMs` taken out; itself where there are none. */
  without(atMs: number, cost: number): ChargeLog {
    let left = cost;
    let copy: ChargeLog | undefined;
    for (let i = this.#count - 1; i >= 0 && left > 0 && this.timeAt(i) >= atMs; i -= 1) {
      const taken = this.timeAt(i) === atMs ? Math.min(left, this.costAt(i)) : 0;
      if (taken > 0) {
        copy ??= this.#copy(0);
        copy.#ring[copy.#at(i) + 1] = this.costAt(i) - taken;
        left -= taken;
      }
    }
    return copy ?? this;
  }

  /** A copy with room for as much again. */
  #copy(dropped: number): ChargeLog {
    const count = this.#count - dropped;
    let length = 8;
    while (length <= count * 2) length *= 2;
    const ring = new Array<number>(length).fill(0);
    for (let i = 0; i < count; i += 1) {
      ring[i * 2] = this.timeAt(dropped + i);
      ring[i * 2 + 1] = this.costAt(dropped + i);
    }
    return new ChargeLog(ring, 0, count);
  }

  #at(index: number): number {
    return (this.#first + index * 2) & (this.#ring.length - 1);
  }
}
