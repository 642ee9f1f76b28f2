/**
 * From a key to its slot: a map that never stops the process to grow. A `Map` moves all its entries whenever it
 * doubles, which takes some 50 ms at a million; so beyond a first map of moderate size, keys go to many small ones.
 */
export class KeyIndex {
  readonly #first: Map<string, number> = new Map();
  #shards: Map<string, number>[] | undefined;

  get(key: string): number | undefined {
    if (this.#shards !== undefined) {
      const slot = this.#shards[shardOf(key)]?.get(key);
      if (slot !== undefined) return slot;
    }
    return this.#first.get(key);
  }

  /** Adds a key that is not there. */
  add(key: string, slot: number): void {
    if (this.#first.size < FIRST_MAP_SIZE) {
      this.#first.set(key, slot);
      return;
    }
    this.#shards ??= Array.from({ length: SHARDS }, () => new Map());
    this.#shards[shardOf(key)]?.set(key, slot);
  }

  delete(key: string): void {
    if (this.#shards?.[shardOf(key)]?.delete(key) !== true) this.#first.delete(key);
  }
}

/** A map of this size doubles within a millisecond. */
const FIRST_MAP_SIZE = 16_384;
/** Of ten million keys each shard holds 40,000. */
const SHARDS = 256;

/**
 * Spreads keys by some of their characters: a bad spread costs only the pause that sharding avoids, so this need not
 * read the whole key, nor withstand those who choose their keys. The map itself hashes with a seed.
 */
function shardOf(key: string): number {
  const { length } = key;
  let hash = length;
  for (let back = 1; back <= 4; back += 1) hash = hash * 31 + (key.charCodeAt(length - back) | 0);
  hash = hash * 31 + (key.charCodeAt(length >> 1) | 0);
  hash = hash * 31 + (key.charCodeAt((length >> 1) + 1) | 0);
  hash = hash * 31 + (key.charCodeAt(length >> 2) | 0);
  return (hash ^ (hash >>> 8)) & (SHARDS - 1);
}
