import { carryOver, type Shape } from './algorithms/carry-over.ts';
import { refund } from './algorithms/refund.ts';
import { clearState, emptyState, type State } from './algorithms/state.ts';
import { type Clock, readTime, systemClock } from './clock.ts';
import { decide, decideByQuota } from './decide.ts';
import type { Decision } from './decision.ts';
import { checkOptions, FloodgateError, invalid } from './errors.ts';
import {
  type Charge,
  checkCharge,
  checkCharges,
  checkRefunds,
  type Refund,
  type Store,
  type Subject,
  type TakeMode,
  type TakeOptions,
} from './store.ts';
import { SubjectTable } from './subject-table.ts';

export interface MemoryStoreOptions {
  /**
   * The most subjects that are remembered. Beyond it, the least used are forgotten, those that are denied or blocked
   * last. @default 1_000_000
   */
  readonly maxKeys?: number;
  /** @default the system's clock, read at each decision */
  readonly clock?: Clock;
}

/**
 * State in this process, exact and without a network. Every answer comes at once, not in a promise.
 *
 * It holds no timer, and never more than `maxKeys` subjects: idle ones are dropped a few at a time as others come.
 */
export class MemoryStore implements Store {
  readonly clock: Clock;
  readonly inProcess = true;
  readonly #maxKeys: number;
  #table: SubjectTable;
  #droppedBefore = 0;
  #closed = false;
  /** The copies of state that a take works on, one for each charge, kept for the next. */
  readonly #drafts: Draft[] = [];
  /** The copy that the most common take works on. */
  readonly #usual: State = emptyState();

  /** @throws FloodgateError `FLOODGATE_INVALID_OPTION` */
  constructor(options: MemoryStoreOptions = {}) {
    checkOptions('FLOODGATE_INVALID_OPTION', 'MemoryStore options', options, ['maxKeys', 'clock']);
    const { maxKeys = 1_000_000, clock = systemClock } = options;
    if (!Number.isSafeInteger(maxKeys) || maxKeys < 1 || maxKeys > MOST_KEYS) {
      const expectation = `a whole number from 1 to ${MOST_KEYS}`;
      throw invalid('FLOODGATE_INVALID_OPTION', 'maxKeys', expectation, maxKeys);
    }
    if (typeof clock?.now !== 'function') {
      throw invalid('FLOODGATE_INVALID_OPTION', 'clock', 'an object with `now()`', clock);
    }
    this.clock = clock;
    this.#maxKeys = maxKeys;
    this.#table = new SubjectTable(maxKeys);
  }

  /** How many subjects are remembered; idle ones that were not yet dropped among them. */
  get size(): number {
    return this.#table.size;
  }

  /** How many subjects were forgotten, for want of room, although they still counted. */
  get dropped(): number {
    return this.#droppedBefore + this.#table.dropped;
  }

  /** Forgets everything. */
  clear(): void {
    this.#droppedBefore += this.#table.dropped;
    this.#table = new SubjectTable(this.#maxKeys);
  }

  /** Forgets everything; a closed store takes no more. */
  close(): void {
    this.clear();
    this.#closed = true;
  }

  /**
   * @throws FloodgateError `FLOODGATE_INVALID_CHARGE`, `FLOODGATE_DUPLICATE_SUBJECT`, `FLOODGATE_STORE_CLOSED`
   */
  take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
    if (charges.length === 1) {
      const charge = charges[0] as Charge;
      checkCharge(charge);
      return [
        options === undefined ? this.#takeUsual(charge) : this.#takeOne(charge, options.mode),
      ];
    }
    return this.#takeGroup(charges, options?.mode);
  }

  refund(refunds: readonly Refund[]): void {
    checkRefunds(refunds);
    this.#checkOpen();
    const { state } = this.#draft(0);
    for (const { policy, key, cost, atMs } of refunds) {
      const slot = this.#table.find(policy, key);
      const shape = slot < 0 ? undefined : this.#table.shapeOf(slot);
      if (shape !== undefined) {
        this.#table.read(slot, state);
        refund(state, shape, cost, atMs);
        this.#table.writeRefunded(slot, state);
      }
    }
  }

  block(subjects: readonly Subject[], durationMs: number): void {
    if (!Number.isSafeInteger(durationMs) || durationMs < 0) {
      const expectation = 'whole milliseconds, 0 or more';
      throw invalid('FLOODGATE_INVALID_OPTION', 'durationMs', expectation, durationMs);
    }
    const nowMs = this.#now();
    for (const { policy, key } of subjects) {
      const slot = this.#table.find(policy, key);
      if (durationMs > 0) {
        this.#table.block(
          slot < 0 ? this.#table.add(policy, key, undefined, nowMs) : slot,
          nowMs + durationMs,
        );
      } else if (slot >= 0) {
        this.#table.unblock(slot);
      }
    }
  }

  reset(subjects: readonly Subject[]): void {
    this.#checkOpen();
    for (const { policy, key } of subjects) {
      const slot = this.#table.find(policy, key);
      if (slot >= 0) this.#table.remove(slot);
    }
  }

  /**
   * The most common take, by a path as short as can be: of a subject that this very quota met before, that is not
   * blocked, by a clock that is not behind it. Any other goes the long way.
   */
  #takeUsual(charge: Charge): Decision {
    const nowMs = this.#now();
    const { quota } = charge;
    const table = this.#table;
    const state = this.#usual;
    const slot = table.find(charge.policy, charge.key);
    if (slot < 0 || !table.readUsual(slot, state, quota) || state.atMs > nowMs) {
      return this.#takeOne(charge, 'take', nowMs);
    }
    const decision = decideByQuota(state, quota, nowMs, charge.cost, false);
    if (decision.allowed) {
      if (charge.cost > 0) table.writeUsual(slot, state, decision.resetAtMs);
      return decision;
    }
    // A denial left the state as it was.
    if (quota.blockMs !== undefined) return this.#takeOne(charge, 'take', nowMs);
    if (decision.retryAfterMs < Number.POSITIVE_INFINITY) {
      table.guard(slot, decision.atMs + decision.retryAfterMs);
    }
    return decision;
  }

  #takeOne(charge: Charge, mode: TakeMode = 'take', nowMs: number = this.#now()): Decision {
    const draft = this.#draftOf(0, charge, nowMs);
    const decision = decide(draft.state, charge.quota, nowMs, charge.cost, mode === 'force');
    if (mode !== 'peek') this.#keepOne(draft, charge, decision, true, nowMs);
    return decision;
  }

  #takeGroup(charges: readonly Charge[], mode: TakeMode = 'take'): Decision[] {
    checkCharges(charges);
    const nowMs = this.#now();
    const decisions = new Array<Decision>(charges.length);
    let admitted = true;
    for (let i = 0; i < charges.length; i += 1) {
      const charge = charges[i] as Charge;
      const draft = this.#draftOf(i, charge, nowMs);
      const decision = decide(draft.state, charge.quota, nowMs, charge.cost, mode === 'force');
      decisions[i] = decision;
      if (!decision.allowed && charge.advisory !== true) admitted = false;
    }
    if (mode !== 'peek') this.#keep(charges, decisions, admitted, nowMs);
    if (!admitted) this.#answerUncharged(charges, decisions, nowMs);
    return decisions;
  }

  /** The i-th draft, with what is remembered of the charge's subject, in the shape of the charge's quota. */
  #draftOf(index: number, { policy, key, quota }: Charge, nowMs: number): Draft {
    const draft = this.#draft(index);
    const { state } = draft;
    const table = this.#table;
    const slot = table.find(policy, key);
    draft.slot = slot;
    if (slot < 0) {
      clearState(state);
    } else {
      table.read(slot, state);
      if (table.isReshaped(slot, quota)) {
        carryOver(state, table.shapeOf(slot) as Shape, quota, nowMs);
      }
    }
    return draft;
  }

  /**
   * Keeps what a take makes of its subjects. Those that have a slot come first: to add one may drop others, and then
   * the slots found before would be somebody else's.
   */
  #keep(
    charges: readonly Charge[],
    decisions: readonly Decision[],
    admitted: boolean,
    nowMs: number,
  ): void {
    let added = false;
    for (let i = 0; i < charges.length; i += 1) {
      const draft = this.#draft(i);
      if (draft.slot < 0) added = true;
      else this.#keepOne(draft, charges[i] as Charge, decisions[i] as Decision, admitted, nowMs);
    }
    if (!added) return;
    for (let i = 0; i < charges.length; i += 1) {
      const draft = this.#draft(i);
      if (draft.slot >= 0) continue;
      this.#keepOne(draft, charges[i] as Charge, decisions[i] as Decision, admitted, nowMs);
    }
  }

  #keepOne(
    draft: Draft,
    charge: Charge,
    decision: Decision,
    admitted: boolean,
    nowMs: number,
  ): void {
    const { state, slot } = draft;
    const { policy, key, quota, cost } = charge;
    const table = this.#table;
    if (decision.allowed) {
      if (!admitted || cost === 0) return;
      state.behindSinceMs = 0;
      const kept = slot < 0 ? table.add(policy, key, quota, nowMs) : slot;
      table.write(kept, state, quota, decision);
      return;
    }
    const known = slot >= 0;
    // What was carried over from another algorithm or window is kept even so: else the time told would never come.
    if (known && table.isReshaped(slot, quota)) table.write(slot, state, quota, decision);
    if (known) table.setBehind(slot, state.behindSinceMs);
    if (state.blockedUntilMs !== (known ? table.blockedUntilMs(slot) : 0)) {
      table.block(known ? slot : table.add(policy, key, undefined, nowMs), state.blockedUntilMs);
    } else if (known && decision.retryAfterMs < Number.POSITIVE_INFINITY) {
      table.guard(slot, decision.atMs + decision.retryAfterMs);
    }
  }

  /** In a denied group, those that had room say what they have left, uncharged. */
  #answerUncharged(charges: readonly Charge[], decisions: Decision[], nowMs: number): void {
    for (let i = 0; i < charges.length; i += 1) {
      const charge = charges[i] as Charge;
      if (decisions[i]?.allowed === true && charge.cost > 0) {
        const { state } = this.#draftOf(i, charge, nowMs);
        decisions[i] = decide(state, charge.quota, nowMs, 0, false);
      }
    }
  }

  #draft(index: number): Draft {
    let draft = this.#drafts[index];
    if (draft === undefined) {
      draft = { slot: -1, state: emptyState() };
      this.#drafts[index] = draft;
    }
    return draft;
  }

  #now(): number {
    this.#checkOpen();
    return readTime(this.clock);
  }

  #checkOpen(): void {
    if (this.#closed) {
      throw new FloodgateError('FLOODGATE_STORE_CLOSED', 'The store is closed: it takes no more');
    }
  }
}

interface Draft {
  /** Where the subject is remembered; -1 where it is not. */
  slot: number;
  readonly state: State;
}

/** What the slots' numbers, and the maps from keys to them, can hold. */
const MOST_KEYS = 100_000_000;
