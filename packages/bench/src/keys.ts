/** The key that everybody knows. */
const HOT_KEY = 'ip:203.0.113.7';

/**
 * The key of the `index`-th client, different for each, in a string of its own. It is flat, as a parser leaves it:
 * one that is put together with `+` would be copied by the first map that it meets, at that map's expense.
 */
export function keyOf(index: number): string {
  // An odd factor is a permutation of the 32-bit numbers, and neighbours look nothing alike. Index 0 is the hot key.
  const address = (Math.imul(index, 2_654_435_761) + 0xcb_00_71_07) >>> 0;
  let end = PREFIX_LENGTH;
  for (let shift = 24; shift >= 0; shift -= 8) {
    end = writeByte((address >>> shift) & 255, end);
    if (shift > 0) buffer[end++] = DOT;
  }
  return buffer.toString('latin1', 0, end);
}

/** The keys of the first `count` clients. */
export function keysUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => keyOf(index));
}

/** Where batches of keys come from. */
export type KeySource = (batch: string[]) => void;

/** Fills each batch with keys of `count` clients in random order: one client has the hot key's one string. */
export function randomKeys(count: number): KeySource {
  if (count === 1) return (batch) => void batch.fill(HOT_KEY);
  const random = randomIndexes(count);
  return (batch) => {
    for (let i = 0; i < batch.length; i += 1) batch[i] = keyOf(random());
  };
}

/** The same indexes each time: `xorshift32`, which visits every number but 0. */
function randomIndexes(count: number): () => number {
  let state = 0x9e_37_79_b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % count;
  };
}

const PREFIX = 'ip:';
const PREFIX_LENGTH = PREFIX.length;
const DOT = '.'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
const buffer = Buffer.alloc('ip:255.255.255.255'.length);
buffer.write(PREFIX);

function writeByte(byte: number, start: number): number {
  let end = start;
  if (byte >= 100) buffer[end++] = ZERO + Math.floor(byte / 100);
  if (byte >= 10) buffer[end++] = ZERO + (Math.floor(byte / 10) % 10);
  buffer[end++] = ZERO + (byte % 10);
  return end;
}
