import { hasShape, type Shape } from './algorithms/carry-over.ts';
import type { State } from './algorithms/state.ts';
import type { Decision } from './decision.ts';
import { type Kind, Kinds } from './kinds.ts';
import { periodOf, type Quota } from './quota.ts';
import {
  AT_MS,
  BLOCK_BITS,
  EMPTY_AT_S,
  FLAGS,
  GUARDED_UNTIL_S,
  KIND,
  NEXT,
  NONE,
  Rows,
  rowAt,
  USED,
} from './rows.ts';

/**
 * The subjects of a memory store: no object and no timer a key, nothing for the garbage collector to walk but the keys
 * themselves, and no step that grows with the number of keys.
 *
 * Slots are in one of two rings, in the order in which they came. Whoever was denied and must still wait, or is
 * blocked, is *guarded*; all others are *ordinary*. As others come, a few slots are swept: the idle ones are dropped,
 * the guarded whose time is over become ordinary. When the table is full, the ordinary slot that came first makes room,
 * unless it was used since it was last looked at (the CLOCK algorithm); a guarded one only where there is no other.
 */
export class SubjectTable {
  readonly #maxKeys: number;
  readonly #rows: Rows = new Rows();
  readonly #blockedUntilMs: Map<number, number> = new Map();
  readonly #behindSinceMs: Map<number, number> = new Map();
  readonly #kinds: Kinds = new Kinds();
  /** The first of the ring of ordinary slots, and of guarded ones. */
  #ordinary: number = NONE;
  #guarded: number = NONE;
  /** The slot that is swept next. */
  #sweptNext = 0;
  #size = 0;
  #dropped = 0;
  /** Coarse times are whole seconds since this one, so that 32 bits hold them. */
  #epochMs: number = Number.NaN;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#size;
  }

  /** How many subjects were forgotten although they still counted. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The subject's slot, or -1. */
  find(policyName: string, key: string): number {
    return this.#kinds.policy(policyName)?.index.get(key) ?? NONE;
  }

  /** What the slot's state knows of its quota; `undefined` where nothing but a block is remembered. */
  shapeOf(slot: number): Shape | undefined {
    return this.#kindOf(slot).shape;
  }

  /** Whether the slot's state was made by a quota of another algorithm, window or interval. */
  isReshaped(slot: number, quota: Quota): boolean {
    const kind = this.#kindOf(slot);
    return kind.quota !== quota && kind.shape !== undefined && !hasShape(kind.shape, quota);
  }

  read(slot: number, state: State): void {
    const rows = this.#rows;
    const block = slot >> BLOCK_BITS;
    const row = rowAt(slot);
    const doubles = rows.doubles[block] as Float64Array;
    const ints = rows.ints[block] as Int32Array;
    state.atMs = doubles[row + AT_MS] as number;
    state.used = doubles[row + USED] as number;
    const flags = ints[row * 2 + FLAGS] as number;
    state.earlier = (flags & HAS_EARLIER) === 0 ? 0 : rows.earlierOf(slot);
    state.log = (flags & HAS_LOG) === 0 ? undefined : rows.logOf(slot);
    state.blockedUntilMs = (flags & BLOCKED) === 0 ? 0 : this.blockedUntilMs(slot);
    state.behindSinceMs = (flags & BEHIND) === 0 ? 0 : (this.#behindSinceMs.get(slot) ?? 0);
    if ((flags & TOUCHED) === 0) ints[row * 2 + FLAGS] = flags | TOUCHED;
  }

  /**
   * Reads a state that this very quota made, and that has neither a block nor been ahead of the clock; false where it
   * is another.
   */
  readUsual(slot: number, state: State, quota: Quota): boolean {
    const rows = this.#rows;
    const block = slot >> BLOCK_BITS;
    const row = rowAt(slot);
    const ints = rows.ints[block] as Int32Array;
    const flags = ints[row * 2 + FLAGS] as number;
    if ((flags & UNUSUAL) !== 0 || this.#kinds.at(ints[row * 2 + KIND] as number).quota !== quota) {
      return false;
    }
    const doubles = rows.doubles[block] as Float64Array;
    state.atMs = doubles[row + AT_MS] as number;
    state.used = doubles[row + USED] as number;
    state.earlier = (flags & HAS_EARLIER) === 0 ? 0 : rows.earlierOf(slot);
    state.log = (flags & HAS_LOG) === 0 ? undefined : rows.logOf(slot);
    if ((flags & TOUCHED) === 0) ints[row * 2 + FLAGS] = flags | TOUCHED;
    return true;
  }

  /** Keeps what an admitted charge made of a state that {@link readUsual} read. */
  writeUsual(slot: number, state: Readonly<State>, resetAtMs: number): void {
    const rows = this.#rows;
    const block = slot >> BLOCK_BITS;
    const row = rowAt(slot);
    const doubles = rows.doubles[block] as Float64Array;
    doubles[row + AT_MS] = state.atMs;
    doubles[row + USED] = state.used;
    const ints = rows.ints[block] as Int32Array;
    ints[row * 2 + EMPTY_AT_S] = this.#seconds(resetAtMs);
    const columns = (ints[row * 2 + FLAGS] as number) & COLUMNS;
    if (columns !== 0 || state.earlier !== 0 || state.log !== undefined) {
      this.#writeColumns(slot, state);
    }
  }

  /**
   * A slot for a subject that has none, and of which a state by `quota` will be kept, or only a block. Makes room first,
   * and drops a few that are idle.
   */
  add(policyName: string, key: string, quota: Quota | undefined, nowMs: number): number {
    if (this.#size === 0) this.#epochMs = nowMs;
    const nowS = Math.floor((nowMs - this.#epochMs) / 1000);
    if (this.#size >= Math.min(SWEPT_FROM_SIZE, this.#maxKeys)) this.#sweep(nowS);
    if (this.#size >= this.#maxKeys) this.#makeRoom(nowS);

    const policy = this.#kinds.policyOrNew(policyName);
    const slot = this.#rows.take(key);
    policy.index.add(key, slot);
    this.#rows.setInt(slot, KIND, this.#kinds.hold(policy, quota).id);
    this.#rows.setInt(slot, EMPTY_AT_S, -MOST_SECONDS);
    this.#rows.setInt(slot, FLAGS, IN_USE);
    this.#ordinary = this.#rows.link(slot, this.#ordinary);
    this.#size += 1;
    return slot;
  }

  /** Keeps a state that `quota` made, and that counts until `decision.resetAtMs`. */
  write(slot: number, state: Readonly<State>, quota: Quota, decision: Decision): void {
    const rows = this.#rows;
    const block = slot >> BLOCK_BITS;
    const row = rowAt(slot);
    const doubles = rows.doubles[block] as Float64Array;
    const ints = rows.ints[block] as Int32Array;
    const kind = this.#kinds.at(ints[row * 2 + KIND] as number);
    if (kind.quota !== quota) this.#setKind(slot, quota);
    doubles[row + AT_MS] = state.atMs;
    doubles[row + USED] = state.used;
    this.#writeColumns(slot, state);
    this.setBehind(slot, state.behindSinceMs);
    // A limit of 0 has nothing to be full of; what was forced on it is kept a while.
    const emptyAtMs = decision.limit > 0 ? decision.resetAtMs : decision.atMs + 2 * periodOf(quota);
    ints[row * 2 + EMPTY_AT_S] = this.#seconds(Math.max(emptyAtMs, state.blockedUntilMs));
  }

  /** Keeps what a refund left, which counts no longer than what was there. */
  writeRefunded(slot: number, state: Readonly<State>): void {
    const doubles = this.#rows.doubles[slot >> BLOCK_BITS] as Float64Array;
    doubles[rowAt(slot) + USED] = state.used;
    this.#writeColumns(slot, state);
  }

  #writeColumns(slot: number, { earlier, log }: Readonly<State>): void {
    const rows = this.#rows;
    const flags = rows.int(slot, FLAGS);
    if (earlier !== 0 || (flags & HAS_EARLIER) !== 0) rows.setEarlier(slot, earlier);
    if (log !== undefined || (flags & HAS_LOG) !== 0) rows.setLog(slot, log);
    const has = (earlier === 0 ? 0 : HAS_EARLIER) | (log === undefined ? 0 : HAS_LOG);
    if ((flags & COLUMNS) !== has) rows.setInt(slot, FLAGS, (flags & ~COLUMNS) | has);
  }

  /** When the slot's block ends; 0 where there is none. */
  blockedUntilMs(slot: number): number {
    return this.#blockedUntilMs.get(slot) ?? 0;
  }

  block(slot: number, untilMs: number): void {
    this.#blockedUntilMs.set(slot, untilMs);
    this.#rows.flag(slot, BLOCKED, true);
    const seconds = this.#seconds(untilMs);
    if (seconds > this.#rows.int(slot, EMPTY_AT_S)) this.#rows.setInt(slot, EMPTY_AT_S, seconds);
    this.guard(slot, untilMs);
  }

  /** Guarded it stays: it may have been denied as well. Without a state, there is nothing left to remember. */
  unblock(slot: number): void {
    this.#blockedUntilMs.delete(slot);
    this.#rows.flag(slot, BLOCKED, false);
    if (this.shapeOf(slot) === undefined) this.remove(slot);
  }

  /** Since when the clock has been behind the slot's state; 0 where it is not. */
  setBehind(slot: number, sinceMs: number): void {
    if (sinceMs === 0 && (this.#rows.int(slot, FLAGS) & BEHIND) === 0) return;
    this.#rows.flag(slot, BEHIND, sinceMs !== 0);
    if (sinceMs === 0) this.#behindSinceMs.delete(slot);
    else this.#behindSinceMs.set(slot, sinceMs);
  }

  /** Keeps the slot from being dropped for others until a time. */
  guard(slot: number, untilMs: number): void {
    const rows = this.#rows;
    const seconds = this.#seconds(untilMs);
    if ((rows.int(slot, FLAGS) & GUARDED) === 0) {
      this.#ordinary = rows.unlink(slot, this.#ordinary);
      this.#guarded = rows.link(slot, this.#guarded);
      rows.flag(slot, GUARDED, true);
      rows.setInt(slot, GUARDED_UNTIL_S, seconds);
    } else if (seconds > rows.int(slot, GUARDED_UNTIL_S)) {
      rows.setInt(slot, GUARDED_UNTIL_S, seconds);
    }
  }

  remove(slot: number): void {
    const rows = this.#rows;
    const kind = this.#kindOf(slot);
    this.#unguard(slot);
    this.#ordinary = rows.unlink(slot, this.#ordinary);
    kind.policy.index.delete(rows.keyOf(slot));
    this.#blockedUntilMs.delete(slot);
    this.#behindSinceMs.delete(slot);
    this.#kinds.release(kind);
    rows.free(slot);
    this.#size -= 1;
  }

  #sweep(nowS: number): void {
    const rows = this.#rows;
    for (let i = 0; i < SWEPT_PER_ADD; i += 1) {
      const slot = this.#sweptNext;
      this.#sweptNext = slot + 1 < rows.length ? slot + 1 : 0;
      const flags = rows.int(slot, FLAGS);
      if ((flags & IN_USE) === 0) continue;
      if ((flags & GUARDED) !== 0 && rows.int(slot, GUARDED_UNTIL_S) <= nowS) this.#unguard(slot);
      if ((flags & GUARDED) === 0 && rows.int(slot, EMPTY_AT_S) <= nowS) this.remove(slot);
    }
  }

  #makeRoom(nowS: number): void {
    const rows = this.#rows;
    if (this.#ordinary !== NONE) {
      for (let i = 0; i < LOOKED_AT_FOR_ROOM; i += 1) {
        if ((rows.int(this.#ordinary, FLAGS) & TOUCHED) === 0) break;
        rows.flag(this.#ordinary, TOUCHED, false);
        this.#ordinary = rows.int(this.#ordinary, NEXT);
      }
      this.#drop(this.#ordinary, nowS);
      return;
    }
    // Nothing but guarded ones: of those looked at, the one whose time is over first.
    let first = this.#guarded;
    for (let i = 0; i < LOOKED_AT_FOR_ROOM; i += 1) {
      this.#guarded = rows.int(this.#guarded, NEXT);
      if (rows.int(this.#guarded, GUARDED_UNTIL_S) < rows.int(first, GUARDED_UNTIL_S)) {
        first = this.#guarded;
      }
    }
    this.#drop(first, nowS);
  }

  #drop(slot: number, nowS: number): void {
    if (this.#rows.int(slot, EMPTY_AT_S) > nowS) this.#dropped += 1;
    this.remove(slot);
  }

  #unguard(slot: number): void {
    const rows = this.#rows;
    if ((rows.int(slot, FLAGS) & GUARDED) === 0) return;
    this.#guarded = rows.unlink(slot, this.#guarded);
    this.#ordinary = rows.link(slot, this.#ordinary);
    rows.flag(slot, GUARDED, false);
  }

  /** Rounded up: a subject may be kept a second too long, never forgotten too early. */
  #seconds(untilMs: number): number {
    const seconds = Math.ceil((untilMs - this.#epochMs) / 1000);
    return Math.max(-MOST_SECONDS, Math.min(seconds, MOST_SECONDS));
  }

  #kindOf(slot: number): Kind {
    return this.#kinds.at(this.#rows.int(slot, KIND));
  }

  #setKind(slot: number, quota: Quota): void {
    this.#rows.setInt(slot, KIND, this.#kinds.change(this.#kindOf(slot), quota).id);
  }
}

/** 68 years: the longest time that 32 bits of seconds hold. */
const MOST_SECONDS = 2_147_483_647;

/** Used since it was last looked at. */
const TOUCHED = 1;
const GUARDED = 2;
const BLOCKED = 4;
const BEHIND = 8;
const HAS_EARLIER = 16;
const HAS_LOG = 32;
const IN_USE = 64;
const UNUSUAL = BLOCKED | BEHIND;
const COLUMNS = HAS_EARLIER | HAS_LOG;

/** So few are not worth the trouble: left alone, they are remembered even by a clock that steps far back. */
const SWEPT_FROM_SIZE = 256;
/** More than one a slot added, so that idle slots go faster than new ones come. */
const SWEPT_PER_ADD = 4;
const LOOKED_AT_FOR_ROOM = 32;
