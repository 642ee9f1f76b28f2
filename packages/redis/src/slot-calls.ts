import type { Charge, Decision, Refund } from '@floodgate/core';
import { Reservations } from '@floodgate/core/internal';
import { AcrossSlots, type Met, type Question } from './across-slots.ts';
import type { Answer, Operation, Time } from './batch.ts';
import { Batches } from './batches.ts';
import { isTryAgain } from './guarded-calls.ts';
import { aloneOf, byWidth, type Part, partsOf } from './parts.ts';
import type { Script } from './scripts.ts';
import type { Servers } from './servers.ts';

/** What is asked of the servers, as steps of batches: one for what is in one slot. */
export class SlotCalls {
  readonly #servers: Servers;
  readonly #batches: Batches;
  readonly #onChanged: (keys: readonly string[]) => void;
  readonly #reservations: Reservations = new Reservations();
  readonly #across: AcrossSlots;

  /** @param onChanged told of subjects of which something else will be counted than is known */
  constructor(servers: Servers, timeoutMs: number, onChanged: (keys: readonly string[]) => void) {
    this.#servers = servers;
    this.#batches = new Batches(servers);
    this.#onChanged = onChanged;
    this.#across = new AcrossSlots({
      run: this.#run,
      reservations: this.#reservations,
      timeoutMs,
      onChanged,
    });
  }

  /** Meets charges in one step, where they are in one slot; else see {@link AcrossSlots}. */
  async ask(question: Question): Promise<Met> {
    const { mode, charges, keys, time, onLate } = question;
    const parts = this.#partsOf(charges, keys);
    if (parts.length !== 1) return this.#across.ask(question, byWidth(parts));
    const [only] = parts as [Part];
    try {
      const late = onLate && (({ decisions }: Answer) => onLate(decisions));
      const { decisions, known, nowMs } = await this.#run(mode, only, time, late);
      return { decisions: decisions as Decision[], known, timesMs: charges.map(() => nowMs) };
    } catch (error) {
      // Of a slot that is being moved, a part is here and a part is there.
      if (charges.length === 1 || !isTryAgain(error)) throw error;
      return this.#across.ask(question, byWidth(aloneOf(only)));
    }
  }

  /** Charges what was used already: nobody waits for it. */
  async force(
    charges: readonly Charge[],
    keys: readonly string[],
    time: Time,
  ): Promise<Decision[]> {
    const decisions: Decision[] = [];
    await this.#change(this.#partsOf(charges, keys), keys, async (part) => {
      const answer = await this.#run('force', part, time);
      for (const [i, index] of part.indexes.entries()) {
        decisions[index] = answer.decisions[i] as Decision;
      }
    });
    return decisions;
  }

  refund(refunds: readonly Refund[], keys: readonly string[], time: Time): Promise<void> {
    return this.#change(this.#partsOf(refunds, keys), keys, async (part) => {
      await this.#run('refund', part, time);
    });
  }

  /** Runs a script of its own on subjects, behind all that was asked for before. */
  change(script: Script, keys: readonly string[], args: string[]): Promise<void> {
    this.#batches.flush();
    return this.#change(this.#partsOf(keys, keys), keys, async ({ slot, keys }) => {
      await this.#servers.of(slot).tell(() => ({ script, keys, args }), ignore);
    });
  }

  /** Whether it is known of none of the servers of these keys that it does not answer. */
  isAnswering(keys: readonly string[]): boolean {
    return keys.every((key) => this.#servers.of(this.#servers.slotOf(key)).isAnswering);
  }

  /** Does something to all of a slot at once; to one after the other where that cannot be. */
  async #change<C>(
    parts: readonly Part<C>[],
    keys: readonly string[],
    act: (part: Part<C>) => Promise<void>,
  ): Promise<void> {
    const actOrSplit = async (part: Part<C>): Promise<void> => {
      try {
        await act(part);
      } catch (error) {
        if (part.keys.length === 1 || !isTryAgain(error)) throw error;
        await Promise.all(aloneOf(part).map(act));
      }
    };
    this.#onChanged(keys);
    try {
      await Promise.all(parts.map(actOrSplit));
    } finally {
      // What was asked for behind it may have been done before it: a server that had forgotten the script did it late.
      this.#onChanged(keys);
    }
  }

  #partsOf<C>(charges: readonly C[], keys: readonly string[]): Part<C>[] {
    return partsOf(charges, keys, (key) => this.#servers.slotOf(key));
  }

  readonly #run = (
    operation: Operation,
    { slot, charges, keys }: Part,
    time: Time,
    late?: (answer: Answer) => void,
  ): Promise<Answer> => {
    const isAwaited = operation !== 'force' && operation !== 'refund';
    // Who is denied by what is only held is not blocked for it, nor told that they would be.
    const spared = isAwaited ? this.#reservations.sparing(charges) : charges;
    return new Promise((done, failed) => {
      const step = { operation, charges: spared, keys, isAwaited, done, failed, late };
      this.#batches.add(slot, step, time);
    });
  };
}

function ignore(): void {}
