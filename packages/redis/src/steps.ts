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
 * other, the widest key last; if one denies, what was taken before is given back. So never more is admitted; for the moment
 * between, less may be.
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
    const parts = this.#partsOf(charges, keys);
    if (parts.length !== 1) return this.#askAcross(mode, byWidth(parts), time, onRefundFailed);
    const [only] = parts as [Part];
    try {
      const late = onLate && (({ decisions }: Answer) => onLate(decisions));
      const { decisions, known, nowMs } = await this.#run(mode, only, time, late);
      return { decisions: decisions as Decision[], known, timesMs: charges.map(() => nowMs) };
    } catch (error) {
      // Of a slot that is being moved, a part is here and a part is there.
      if (charges.length === 1 || !isTryAgain(error)) throw error;
      return this.#askAcross(mode, byWidth(aloneOf(only)), time, onRefundFailed);
    }
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

  /**
   * Asks all first, which changes nothing, so that a group that is denied was never charged, not even for a moment; then
   * charges one after the other.
   */
  async #askAcross(
    mode: 'take' | 'peek',
    parts: readonly Part[],
    time: Time,
    onRefundFailed: (error: unknown) => void,
  ): Promise<Met> {
    try {
      const peeked = await Promise.all(parts.map((part) => this.#run('peek', part, time)));
      const isAllowed = parts.every((part, i) =>
        isAdmitted(part.charges, (peeked[i] as Answer).decisions),
      );
      if (mode === 'peek') return metOf(parts, peeked, isAllowed);
      if (isAllowed) return await this.#takeOneByOne(parts, peeked, time, onRefundFailed);
      for (const [i, part] of parts.entries()) {
        this.#deny(part, peeked[i] as Answer, time).catch(onRefundFailed);
      }
      return metOf(parts, peeked, false);
    } catch (error) {
      if (!isTryAgain(error) || parts.every(({ keys }) => keys.length === 1)) throw error;
      return this.#askAcross(mode, byWidth(parts.flatMap(aloneOf)), time, onRefundFailed);
    }
  }

  async #takeOneByOne(
    parts: readonly Part[],
    peeked: readonly Answer[],
    time: Time,
    onRefundFailed: (error: unknown) => void,
  ): Promise<Met> {
    const answers: PartAnswer[] = [...peeked];
    const held: Part[] = [];
    const cancel = (): void => {
      for (const [i, part] of parts.entries()) {
        const answer = answers[i] as PartAnswer;
        if (answer.isTaken) this.#giveBack(part, answer, time).catch(onRefundFailed);
      }
    };
    let isAllowed = true;
    try {
      for (const [i, part] of parts.entries()) {
        // Nobody goes by an answer that is late: it is as if the charge had been denied.
        const taken = this.#run('take', part, time, (answer) => {
          this.#giveBack(part, answer, time).catch(onRefundFailed);
        });
        // Others may ask for the same subjects before the answer is there.
        this.#reservations.hold(part.charges);
        held.push(part);
        const answer = await taken;
        answers[i] = { ...answer, isTaken: true };
        isAllowed = isAdmitted(part.charges, answer.decisions);
        if (!isAllowed) break;
      }
    } catch (error) {
      cancel();
      throw error;
    } finally {
      for (const { charges } of held) this.#reservations.release(charges);
    }
    if (!isAllowed) cancel();
    return metOf(parts, answers, isAllowed);
  }

  /** Has those denied that are denied: that may start a block, and keeps what was carried over. */
  async #deny({ slot, charges, keys }: Part, { decisions }: Answer, time: Time): Promise<void> {
    const denied: Part<Charge> = { slot, charges: [], keys: [], indexes: [] };
    for (const [i, charge] of charges.entries()) {
      if (decisions[i]?.allowed !== false) continue;
      denied.charges.push(charge);
      denied.keys.push(keys[i] as string);
    }
    if (denied.keys.length === 0) return;
    const answer = await this.#run('take', denied, time).catch(ignore);
    // There was room again, by then.
    if (answer !== undefined) await this.#giveBack(denied, answer, time);
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

/** What all parts come to: where one denies, what the others have left. */
function metOf(parts: readonly Part[], answers: readonly PartAnswer[], isAllowed: boolean): Met {
  const decisions: Decision[] = [];
  const known: Known[] = [];
  const timesMs: number[] = [];
  for (const [i, part] of parts.entries()) {
    const answer = answers[i] as PartAnswer;
    const answered = isAllowed ? answer.decisions : uncharged(part, answer);
    for (const [j, index] of part.indexes.entries()) {
      decisions[index] = answered[j] as Decision;
      known[index] = answer.known[j] as Known;
      timesMs[index] = answer.nowMs;
    }
  }
  return { decisions, known, timesMs };
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
