import type { Charge, Decision, Refund, TakeMode, TakeOptions } from '@floodgate/core';
import { isAdmitted, Reservations, refund, widthOf } from '@floodgate/core/internal';
import { ExponentialBackoff, handleWhen, retry } from 'cockatiel';
import type { Answer, Time } from './batch.ts';
import { Batches } from './batches.ts';
import { decideGroup } from './decide-group.ts';
import { isTryAgain, isUndone } from './guarded-calls.ts';
import type { Script } from './scripts.ts';
import type { Servers } from './servers.ts';
import type { Known } from './states.ts';

/** What charges came to, and what is known of each one's subject now. */
export interface Met {
  readonly decisions: Decision[];
  readonly known: readonly Known[];
  /** When each was met, by whichever clock counts: each server has one of its own. */
  readonly timesMs: readonly number[];
}

/** Charges, or what is given back, in one slot. */
interface Part<C = Charge> {
  readonly slot: number;
  readonly charges: C[];
  readonly keys: string[];
  /** Where they stand among all. */
  readonly indexes: number[];
}

interface PartAnswer extends Answer {
  /** Whether its charges were taken, and not only asked about. */
  readonly isTaken?: boolean;
}

type AskOptions = Pick<TakeOptions, 'onLate' | 'onRefundFailed'>;

/**
 * Takes and refunds as steps of batches: one for what is in one slot. Subjects in several slots are met one slot after the
 * other, the widest key last; if one denies, what was taken before is given back, and the later ones still say what they
 * would have answered. So never more is admitted; for the moment between, less may be.
 */
export class Steps {
  readonly #servers: Servers;
  readonly #batches: Batches;
  readonly #onChanged: (keys: readonly string[]) => void;
  readonly #reservations: Reservations = new Reservations();

  /** @param onChanged told of subjects of which something else will be counted than is known */
  constructor(servers: Servers, onChanged: (keys: readonly string[]) => void) {
    this.#servers = servers;
    this.#batches = new Batches(servers);
    this.#onChanged = onChanged;
  }

  async ask(
    mode: 'take' | 'peek',
    charges: readonly Charge[],
    keys: readonly string[],
    time: Time,
    { onLate, onRefundFailed = ignore }: AskOptions,
  ): Promise<Met> {
    const [only, ...others] = this.#partsOf(charges, keys);
    if (only === undefined) return { decisions: [], known: [], timesMs: [] };
    if (others.length === 0) {
      try {
        const late = onLate && (({ decisions }: Answer) => onLate(decisions));
        return metOf(await this.#run(mode, only, time, late));
      } catch (error) {
        // Of a slot that is being moved, a part is here and a part is there.
        if (charges.length === 1 || !isTryAgain(error)) throw error;
        const parts = byWidth(aloneOf(only));
        return this.#askAcross(mode, parts, charges, time, onRefundFailed);
      }
    }
    const parts = byWidth([only, ...others]);
    return this.#askAcross(mode, parts, charges, time, onRefundFailed);
  }

  async force(
    charges: readonly Charge[],
    keys: readonly string[],
    time: Time,
  ): Promise<Decision[]> {
    this.#onChanged(keys);
    const decisions: Decision[] = [];
    await this.#each(this.#partsOf(charges, keys), async (part) => {
      const answer = await this.#run('force', part, time);
      for (const [i, index] of part.indexes.entries()) {
        decisions[index] = answer.decisions[i] as Decision;
      }
    });
    return decisions;
  }

  refund(refunds: readonly Refund[], keys: readonly string[], time: Time): Promise<void> {
    this.#onChanged(keys);
    return this.#each(this.#partsOf(refunds, keys), async (part) => {
      await this.#run('refund', part, time);
    });
  }

  /** Runs a script of its own on subjects, behind all that was asked for before. */
  async change(script: Script, keys: readonly string[], args: string[]): Promise<void> {
    this.#onChanged(keys);
    this.#batches.flush();
    await this.#each(this.#partsOf(keys, keys), async (part) => {
      await this.#servers.of(part.slot).tell({ script, keys: part.keys, args });
    });
  }

  /** Does something to all of a slot at once; to one after the other where that cannot be. */
  async #each<C>(parts: readonly Part<C>[], act: (part: Part<C>) => Promise<void>): Promise<void> {
    const actOrSplit = async (part: Part<C>): Promise<void> => {
      try {
        await act(part);
      } catch (error) {
        if (part.keys.length === 1 || !isTryAgain(error)) throw error;
        await Promise.all(aloneOf(part).map(act));
      }
    };
    await Promise.all(parts.map(actOrSplit));
  }

  async #askAcross(
    mode: 'take' | 'peek',
    parts: readonly Part[],
    charges: readonly Charge[],
    time: Time,
    onRefundFailed: (error: unknown) => void,
  ): Promise<Met> {
    const answers: readonly PartAnswer[] =
      mode === 'take'
        ? await this.#takeOneByOne(parts, time, onRefundFailed)
        : await Promise.all(parts.map((part) => this.#run('peek', part, time)));
    const isAllowed = parts.every((part, i) =>
      isAdmitted(part.charges, (answers[i] as Answer).decisions),
    );
    const met = {
      decisions: [...charges] as unknown as Decision[],
      known: [] as Known[],
      timesMs: [] as number[],
    };
    for (const [i, part] of parts.entries()) {
      const { decisions, known, nowMs } = answers[i] as Answer;
      const answered = isAllowed ? decisions : uncharged(part, answers[i] as PartAnswer);
      for (const [j, index] of part.indexes.entries()) {
        met.decisions[index] = answered[j] as Decision;
        met.known[index] = known[j] as Known;
        met.timesMs[index] = nowMs;
      }
    }
    return met;
  }

  async #takeOneByOne(
    parts: readonly Part[],
    time: Time,
    onRefundFailed: (error: unknown) => void,
  ): Promise<PartAnswer[]> {
    const answers: PartAnswer[] = [];
    let held: { readonly part: Part; readonly answer: Answer }[] = [];
    const cancel = (): void => {
      for (const { part, answer } of held) {
        this.#reservations.release(part.charges);
        this.#giveBack(part, answer, time).catch(onRefundFailed);
      }
      held = [];
    };
    let isDenied = false;
    for (const part of parts) {
      // Nobody goes by an answer that is late: it is as if the charge had been denied.
      const late = (answer: Answer): void => {
        this.#giveBack(part, answer, time).catch(onRefundFailed);
      };
      const asked = isDenied ? this.#run('peek', part, time) : this.#run('take', part, time, late);
      // Others may ask for the same subjects before the answer is there.
      if (!isDenied) this.#reservations.hold(part.charges);
      try {
        const answer = await asked;
        answers.push({ ...answer, isTaken: !isDenied });
        if (isDenied) continue;
        if (isAdmitted(part.charges, answer.decisions)) {
          held.push({ part, answer });
          continue;
        }
        isDenied = true;
      } catch (error) {
        if (!isDenied) this.#reservations.release(part.charges);
        cancel();
        throw error;
      }
      this.#reservations.release(part.charges);
      cancel();
    }
    for (const { part } of held) this.#reservations.release(part.charges);
    return answers;
  }

  /** Is tried again as long as it is known not to have been done: else it might be done twice. */
  async #giveBack({ slot, charges, keys }: Part, { decisions }: Answer, time: Time): Promise<void> {
    if (!isAdmitted(charges, decisions)) return;
    const taken: Part<Refund> = { slot, charges: [], keys: [], indexes: [] };
    for (const [i, charge] of charges.entries()) {
      const { allowed, atMs } = decisions[i] as Decision;
      if (!allowed || charge.cost === 0) continue;
      taken.charges.push({ ...charge, atMs });
      taken.keys.push(keys[i] as string);
    }
    if (taken.keys.length === 0) return;
    this.#onChanged(taken.keys);
    await RETRIES.execute(() =>
      this.#each([taken], async (part) => {
        await this.#run('refund', part, time);
      }),
    );
  }

  #run(
    operation: TakeMode | 'refund',
    part: Part,
    time: Time,
    late?: (answer: Answer) => void,
  ): Promise<Answer> {
    const { slot, keys } = part;
    const charges = operation === 'take' ? this.#reservations.sparing(part.charges) : part.charges;
    const isAwaited = operation === 'take' || operation === 'peek';
    return new Promise((done, failed) => {
      this.#batches.add(slot, { operation, charges, keys, isAwaited, done, failed, late }, time);
    });
  }

  #partsOf<C>(charges: readonly C[], keys: readonly string[]): Part<C>[] {
    const parts = new Map<number, Part<C>>();
    for (const [index, key] of keys.entries()) {
      const slot = this.#servers.slotOf(key);
      let part = parts.get(slot);
      if (part === undefined) {
        part = { slot, charges: [], keys: [], indexes: [] };
        parts.set(slot, part);
      }
      part.charges.push(charges[index] as C);
      part.keys.push(key);
      part.indexes.push(index);
    }
    return [...parts.values()];
  }
}

/** Some ten seconds of them: so long does a failover take, or a slot to be moved. */
const RETRIES = retry(handleWhen(isUndone), {
  maxAttempts: 10,
  backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 2_000 }),
});

function metOf({ decisions, known, nowMs }: Answer): Met {
  return { decisions: decisions as Decision[], known, timesMs: decisions.map(() => nowMs) };
}

function aloneOf<C>({ slot, charges, keys, indexes }: Part<C>): Part<C>[] {
  return charges.map((charge, i) => ({
    slot,
    charges: [charge],
    keys: [keys[i] as string],
    indexes: [indexes[i] as number],
  }));
}

/** The widest last: units held there for a moment are missed by the most clients. */
function byWidth(parts: readonly Part[]): Part[] {
  return [...parts].sort((a, b) => widthOf(a.charges) - widthOf(b.charges));
}

/** What a part says where another one denies: those that had room, what they have left. */
function uncharged(
  { charges }: Part,
  { decisions, known, nowMs, isTaken }: PartAnswer,
): readonly Decision[] {
  // A part that denied has said so.
  if (!isAdmitted(charges, decisions)) return decisions;
  return decisions.map((decision, i) => {
    const charge = charges[i] as Charge;
    if (!decision.allowed || charge.cost === 0) return decision;
    const subject = known[i] as Known;
    // It is what was there after the charge.
    if (isTaken && subject.shape !== undefined) {
      refund(subject.state, subject.shape, charge.cost, decision.atMs);
    }
    const [answer] = decideGroup([subject], [{ ...charge, cost: 0 }], 'peek', nowMs);
    return answer as Decision;
  });
}

function ignore(): void {}
