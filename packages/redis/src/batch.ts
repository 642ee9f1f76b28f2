import { type Charge, type Decision, FloodgateError, type TakeMode } from '@floodgate/core';
import { isSameQuota, messageOf } from '@floodgate/core/internal';
import { decideGroup } from './decide-group.ts';
import type { Call } from './guarded-calls.ts';
import { Quotas } from './quotas.ts';
import { BATCH } from './scripts.ts';
import { type Known, readState } from './states.ts';

/**
 * - `'deny'`: what `'take'` does where another charge of the group denies it.
 * - `'refund'`: gives units back.
 */
export type Operation = TakeMode | 'deny' | 'refund';

/** What one caller has the server do, all or nothing: charges to be met, or units to be given back. */
export interface Step {
  readonly operation: Operation;
  /** Of a refund, they say when they were taken. */
  readonly charges: readonly (Charge & { readonly atMs?: number })[];
  /** Where each charge's subject is. */
  readonly keys: readonly string[];
  /** Whether a request waits for it; it is not sent to a server that does not answer. */
  readonly isAwaited: boolean;
  /** What it came to. */
  readonly done: (answer: Answer) => void;
  readonly failed: (error: unknown) => void;
  /** What it came to after all, once it has failed. */
  readonly late?: ((answer: Answer) => void) | undefined;
}

export interface Answer {
  /** Of a denial or a refund: none. */
  readonly decisions: readonly Decision[];
  /** By whichever clock counts. */
  readonly nowMs: number;
  /** What is known of each subject now. */
  readonly known: readonly Known[];
}

/** The first two arguments of a script, see `lua/clock.lua`. */
export type Time = readonly [nowMs: string, spareMs: string];

/** Steps that travel together, each decided by itself and in order. */
export class Batch {
  readonly time: Time;
  /** What it costs the server: about as much as so many charges. */
  weight = 0;
  #size = 0;
  readonly #runs: Run[] = [];
  /** The last run that has to do with a key. */
  readonly #lastOf: Map<string, Run> = new Map();
  readonly #failed: Set<Step> = new Set();

  constructor(time: Time) {
    this.time = time;
  }

  /**
   * Adds a step: to equal ones, if none in between has to do with its subjects, so that the order of what comes to a
   * subject stays as it is.
   */
  add(step: Step): void {
    const last = this.#lastOf.get(step.keys[0] as string);
    if (last !== undefined && this.#isLastOfAll(last, step) && isEqual(last[0], step)) {
      last.push(step);
      return;
    }
    const run: Run = [step];
    this.#runs.push(run);
    for (const key of step.keys) this.#lastOf.set(key, run);
    this.weight += weightOf(step);
    this.#size += step.keys.length;
  }

  get isAwaited(): boolean {
    return this.#runs.some(([{ isAwaited }]) => isAwaited);
  }

  /** The steps for which no request waits. */
  withoutAwaited(): Batch {
    const rest = new Batch(this.time);
    for (const run of this.#runs) {
      for (const step of run) if (!step.isAwaited) rest.add(step);
    }
    return rest;
  }

  /** The same steps, each in a batch of its own, but for equal ones. */
  split(): Batch[] {
    return this.#runs.map((run) => {
      const alone = new Batch(this.time);
      for (const step of run) alone.add(step);
      return alone;
    });
  }

  /** Tells the steps, or those for which requests wait, that they failed; what they come to even so is late. */
  fail(error: unknown, { onlyAwaited = false }: { readonly onlyAwaited?: boolean } = {}): void {
    for (const run of this.#runs) {
      for (const step of run) {
        if (this.#failed.has(step) || (onlyAwaited && !step.isAwaited)) continue;
        this.#failed.add(step);
        step.failed(error);
      }
    }
  }

  /** As `lua/batch.lua` has it. */
  get call(): Call {
    const [keys, shortKeys] = this.#keys();
    const numberOf = new Map(keys.map((key, i) => [key, String(i + 1)]));
    const quotas = new Quotas();
    const steps: string[] = [];
    for (const run of this.#runs) {
      const [{ operation, charges, keys: ofStep }] = run;
      steps.push(operation, String(run.length), String(charges.length));
      for (let i = 0; i < charges.length; i += 1) {
        const charge = charges[i] as Step['charges'][number];
        steps.push(numberOf.get(ofStep[i] as string) as string);
        if (operation === 'refund') steps.push(String(charge.cost), String(charge.atMs));
        else steps.push(quotas.numberOf(charge), String(charge.cost));
      }
    }
    const head = [...this.time, String(shortKeys), String(quotas.count)];
    return { script: BATCH, keys, args: [...head, ...quotas.arguments, ...steps] };
  }

  /**
   * Tells each step what it came to.
   *
   * @throws FloodgateError `FLOODGATE_STORE_FAILED` for what is no reply to the call
   */
  read(reply: unknown): void {
    const [time, ...texts] = checkReply(reply, this.#size + 1);
    const nowMs = Number(time);
    let first = 0;
    for (const run of this.#runs) {
      const size = run[0].keys.length;
      try {
        this.#readRun(run, texts.slice(first, first + size), nowMs);
      } catch (error) {
        // What cannot be read is one step's, and not the fault of those behind it.
        for (const step of run)
          if (!this.#failed.has(step)) step.failed(storeFailed(messageOf(error)));
      }
      first += size;
    }
  }

  #readRun(run: Run, texts: readonly string[], nowMs: number): void {
    const [{ operation }] = run;
    if (texts.includes(LATER_VERSION)) {
      for (const step of run) {
        if (!this.#failed.has(step))
          step.failed(storeFailed('a later version of Floodgate wrote this state'));
      }
      return;
    }
    const known = isTake(operation) ? texts.map(readState) : [];
    for (const step of run) {
      const decisions = isTake(operation) ? decideGroup(known, step.charges, operation, nowMs) : [];
      const answer = { decisions, nowMs, known };
      if (this.#failed.has(step)) step.late?.(answer);
      else step.done(answer);
    }
  }

  #isLastOfAll(run: Run, { keys }: Step): boolean {
    return keys.every((key) => this.#lastOf.get(key) === run);
  }

  /** Each key once, and how many of them, the first ones, have short states: all but logs. */
  #keys(): [keys: string[], shortKeys: number] {
    const [short, long] = [new Set<string>(), new Set<string>()];
    for (const [{ charges, keys }] of this.#runs) {
      for (const [i, key] of keys.entries()) {
        if (charges[i]?.quota?.algorithm !== 'sliding-window-log') short.add(key);
        else long.add(key);
      }
    }
    for (const key of short) long.delete(key);
    return [[...short, ...long], short.size];
  }
}

/** Equal steps: they travel once. */
type Run = [Step, ...Step[]];

function isEqual(a: Step, b: Step): boolean {
  if (a.operation !== b.operation || a.keys.length !== b.keys.length) return false;
  if (a.operation !== 'take' && a.operation !== 'peek') return false;
  return a.charges.every((charge, i) => {
    const other = b.charges[i] as Charge;
    return (
      a.keys[i] === b.keys[i] &&
      charge.cost === other.cost &&
      isSameQuota(charge.quota, other.quota) &&
      (charge.advisory === true) === (other.advisory === true)
    );
  });
}

function isTake(operation: Operation): operation is TakeMode {
  return operation !== 'deny' && operation !== 'refund';
}

/** To give back to a log, Redis copies it, and to deny a cost, it reads what would have to leave for that. */
export function weightOf({ operation, charges }: Pick<Step, 'operation' | 'charges'>): number {
  let weight = 0;
  for (const { quota, cost } of charges) {
    let entries = 0;
    if (quota?.algorithm === 'sliding-window-log') {
      entries = operation === 'refund' ? quota.limit : Math.min(cost, quota.limit);
    }
    weight += Math.max(1, Math.ceil(entries / ENTRIES_PER_CHARGE));
  }
  return weight;
}

/** So many entries of a log are read in the time that a charge takes. */
const ENTRIES_PER_CHARGE = 50;

const LATER_VERSION = 'later';

function checkReply(reply: unknown, length: number): readonly string[] {
  const valid =
    Array.isArray(reply) &&
    reply.length === length &&
    reply.every((item) => typeof item === 'string') &&
    /^\d+$/.test(reply[0] as string);
  if (!valid) throw storeFailed('it replied with what is no reply to the call');
  return reply;
}

function storeFailed(reason: string): FloodgateError {
  return new FloodgateError('FLOODGATE_STORE_FAILED', `Redis failed (${reason})`);
}
