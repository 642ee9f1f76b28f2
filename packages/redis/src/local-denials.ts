import type { Charge, Clock, Decision, Quota } from '@floodgate/core';
import {
  type ChargeLog,
  hasShape,
  isAdmitted,
  isSameQuota,
  monotonicNow,
  readTime,
} from '@floodgate/core/internal';
import type { Met } from './across-slots.ts';
import { decideGroup } from './decide-group.ts';
import type { Known } from './states.ts';

/** What a denied group is told without a question to the server. */
export interface LocalDenial {
  readonly decisions: Decision[];
  /** Whether the server is to be asked again, so that what is known does not get too old. */
  readonly isDue: boolean;
}

/**
 * What is known of subjects whose groups were denied. Until they may be admitted they are denied again in this process: by
 * the state that the server told, which a denial does not change. What other processes give back, or lift, is seen within
 * the interval, since nothing that is older decides.
 */
export class LocalDenials {
  /** By which the server's time is known exactly; `undefined` where it is the server's own. */
  readonly #clock: Clock | undefined;
  readonly #intervalMs: number;
  /** By key, those that were answered last at the end. */
  readonly #entries: Map<string, Entry> = new Map();
  /** When each key was last forgotten, counted in turns: an answer to what was asked before that is not noted. */
  readonly #forgotten: Map<string, number> = new Map();
  #turn = 1;
  /** Of what was asked before this turn, it is not known any more what was forgotten since. */
  #firstTurn = 0;

  constructor(clock: Clock | undefined, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /** To be taken before the server is asked, and given back with its answer. */
  get moment(): Moment {
    return { atMs: this.#now(), turn: this.#turn };
  }

  /** Answers a take that is known to be denied. */
  of(charges: readonly Charge[], keys: readonly string[]): LocalDenial | undefined {
    if (this.#entries.size === 0) return undefined;
    const nowMs = this.#now();
    const entries: Entry[] = [];
    for (let i = 0; i < charges.length; i += 1) {
      const entry = this.#entries.get(keys[i] as string);
      if (entry === undefined || !this.#isOf(entry, charges[i] as Charge, nowMs)) return undefined;
      entries.push(entry);
    }
    if (!charges.some((charge, i) => isDenial(entries[i] as Entry, charge))) return undefined;
    // At the latest that it can be: who may be admitted by then asks the server.
    const latest = charges.map((charge, i) =>
      this.#decide(entries[i] as Entry, charge, nowMs, true),
    );
    const isDenied = charges.some(
      (charge, i) => isDenial(entries[i] as Entry, charge) && latest[i]?.allowed === false,
    );
    if (!isDenied || latest.includes(undefined)) return undefined;
    const decisions = charges.map((charge, i) => {
      const uncharged =
        latest[i]?.allowed === true && charge.cost > 0 ? { ...charge, cost: 0 } : charge;
      return this.#decide(entries[i] as Entry, uncharged, nowMs, false) as Decision;
    });
    const isDue = entries.some((entry) => this.#isDue(entry, nowMs));
    if (isDue) for (const entry of entries) entry.isAskedAgain = true;
    return { decisions, isDue };
  }

  /** Notes what the server answered to a question of that moment: of denied groups, and of what was noted before. */
  note(charges: readonly Charge[], keys: readonly string[], met: Met, asked: Moment): void {
    const isDenied = !isAdmitted(charges, met.decisions);
    if (!isDenied && this.#entries.size === 0) return;
    const answeredAtMs = this.#now();
    this.#dropOld(answeredAtMs);
    if (asked.turn < this.#firstTurn) return;
    for (let i = 0; i < charges.length; i += 1) {
      const key = keys[i] as string;
      const { quota, cost } = charges[i] as Charge;
      if (!isDenied && (cost === 0 || !this.#entries.has(key))) continue;
      const { allowed } = met.decisions[i] as Decision;
      // What denies nothing may be as old as it is.
      if (!allowed && (this.#forgotten.get(key) ?? 0) > asked.turn) continue;
      this.#entries.delete(key);
      // Of a log that was charged is not known which of it leaves when.
      if (!isDenied && quota.algorithm === 'sliding-window-log') continue;
      this.#entries.set(key, {
        known: met.known[i] as Known,
        quota,
        cost,
        isDenied: !allowed,
        nowMs: met.timesMs[i] as number,
        askedAtMs: asked.atMs,
        answeredAtMs,
        isAskedAgain: false,
      });
    }
    while (this.#entries.size > MOST_ENTRIES) this.#dropOldest(this.#entries);
  }

  /** To be called when what is counted of subjects is changed by other than takes: it may be less by now. */
  forget(keys: readonly string[]): void {
    this.#turn += 1;
    for (const key of keys) {
      this.#entries.delete(key);
      this.#forgotten.delete(key);
      this.#forgotten.set(key, this.#turn);
    }
    while (this.#forgotten.size > MOST_ENTRIES) this.#firstTurn = this.#dropOldest(this.#forgotten);
  }

  #now(): number {
    return this.#clock === undefined ? monotonicNow() : readTime(this.#clock);
  }

  #isOf(entry: Entry, { quota, cost }: Charge, nowMs: number): boolean {
    const ageMs = nowMs - entry.askedAtMs;
    if (ageMs < 0 || ageMs >= this.#intervalMs || !isSameQuota(entry.quota, quota)) return false;
    // Of a log is known what has to leave for that cost, and not for others.
    return quota.algorithm !== 'sliding-window-log' || entry.cost === cost;
  }

  /**
   * What the server would answer, at the earliest or at the latest that it may be there. Undefined where it would not keep
   * everything as it is: a denial may start a block, or find the clock behind.
   */
  #decide(
    { known, askedAtMs, answeredAtMs, nowMs: toldMs }: Entry,
    charge: Charge,
    nowMs: number,
    latest: boolean,
  ): Decision | undefined {
    let atMs = nowMs;
    if (this.#clock === undefined) {
      atMs = latest
        ? toldMs + Math.ceil(nowMs - askedAtMs) + 1
        : toldMs + Math.floor(nowMs - answeredAtMs);
    }
    const { state, shape } = known;
    // What would be carried over now is carried over, and kept, by Redis only.
    if (latest && shape !== undefined && !hasShape(shape, charge.quota)) return undefined;
    if (latest && (state.atMs > atMs || hasLeft(state.log, shape?.periodMs, atMs)))
      return undefined;
    const [decision] = decideGroup([known], [charge], 'peek', atMs) as [Decision];
    const isBlocked = state.blockedUntilMs > atMs && state.blockedUntilMs > state.atMs;
    const startsBlock = !decision.allowed && charge.quota.blockMs !== undefined && charge.cost > 0;
    return latest && startsBlock && !isBlocked ? undefined : decision;
  }

  #isDue(entry: Entry, nowMs: number): boolean {
    return !entry.isAskedAgain && nowMs - entry.askedAtMs >= this.#intervalMs * ASKED_AGAIN_AFTER;
  }

  #dropOld(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      const ageMs = nowMs - entry.askedAtMs;
      if (ageMs >= 0 && ageMs < this.#intervalMs) return;
      this.#entries.delete(key);
    }
  }

  #dropOldest<T>(map: Map<string, T>): T {
    const [[key, value]] = map as unknown as [[string, T]];
    map.delete(key);
    return value;
  }
}

/** When something was asked. */
export interface Moment {
  readonly atMs: number;
  readonly turn: number;
}

/** What is known of one subject. */
interface Entry {
  readonly known: Known;
  readonly quota: Quota;
  readonly cost: number;
  /** Whether that cost was denied, and not only its group. */
  readonly isDenied: boolean;
  /** The server's time when it answered. */
  readonly nowMs: number;
  /** When it was asked and when its answer was there, by this process's clock. */
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  /** Whether the server was asked again since. */
  isAskedAgain: boolean;
}

/** Some 5 MB, if keys are short. Beyond it, who was denied first is asked about again. */
const MOST_ENTRIES = 10_000;

/** How much of the interval passes before the server is asked again: its answer is to come before the interval is over. */
const ASKED_AGAIN_AFTER = 0.9;

/** Whether an entry says that its charge is denied; what is only reserved may come back at any time. */
function isDenial(entry: Entry, { cost, settles, advisory }: Charge): boolean {
  return entry.isDenied && cost >= entry.cost && settles !== true && advisory !== true;
}

/** Whether charges of a log, of which only some are known by themselves, have left its window by now. */
function hasLeft(log: ChargeLog | undefined, windowMs = 0, nowMs: number): boolean {
  return log !== undefined && log.length > 0 && log.timeAt(0) + windowMs <= nowMs;
}
