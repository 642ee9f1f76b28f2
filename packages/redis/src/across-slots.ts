import type { Charge, Decision, Refund, TakeOptions } from '@floodgate/core';
import { hasShape, isAdmitted, type Reservations, refund } from '@floodgate/core/internal';
import { ExponentialBackoff, handleWhen, retry } from 'cockatiel';
import type { Answer, Operation, Time } from './batch.ts';
import { decideGroup } from './decide-group.ts';
import { isTryAgain, isUndone, overdue } from './guarded-calls.ts';
import { inTime } from './in-time.ts';
import { aloneOf, byWidth, type Part } from './parts.ts';
import type { Known } from './states.ts';

/** Charges that are to be met, all or none. */
export interface Question {
  readonly mode: 'take' | 'peek';
  readonly charges: readonly Charge[];
  readonly keys: readonly string[];
  readonly time: Time;
  readonly onLate?: TakeOptions['onLate'] | undefined;
  readonly onRefundFailed?: TakeOptions['onRefundFailed'] | undefined;
}

/** What charges came to, and what is known of each one's subject now. */
export interface Met {
  readonly decisions: Decision[];
  readonly known: readonly Known[];
  /** When each was met, by whichever clock counts: each server has one of its own. */
  readonly timesMs: readonly number[];
}

interface Options {
  readonly run: (
    operation: Operation,
    part: Part,
    time: Time,
    late?: (answer: Answer) => void,
  ) => Promise<Answer>;
  readonly reservations: Reservations;
  /** For all that a question takes. */
  readonly timeoutMs: number;
  /** Told of subjects of which something else will be counted than is known. */
  readonly onChanged: (keys: readonly string[]) => void;
}

interface PartAnswer extends Answer {
  /** Whether its charges were taken, and not only asked about. */
  readonly isTaken?: boolean;
}

/** Whether a question is still waited for. */
interface Progress {
  isOver: boolean;
}

/**
 * Charges in several slots. All are asked first, at once, which changes nothing: a group that is denied was not charged.
 * Else they are charged one after the other, the widest key last, and given back if one denies by then. So never more is
 * admitted; for the moment between, less may be.
 */
export class AcrossSlots {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** All of it takes no longer than one call may. */
  ask(question: Question, parts: readonly Part[]): Promise<Met> {
    const { timeoutMs } = this.#options;
    const progress: Progress = { isOver: false };
    return inTime(this.#ask(question, parts, progress), timeoutMs, {
      lateness: () => {
        progress.isOver = true;
        return overdue(timeoutMs);
      },
      onLate: ignore,
    });
  }

  async #ask(question: Question, parts: readonly Part[], progress: Progress): Promise<Met> {
    const { mode, time } = question;
    try {
      const peeked = await Promise.all(parts.map((part) => this.#options.run('peek', part, time)));
      const isAllowed = parts.every((part, i) =>
        isAdmitted(part.charges, (peeked[i] as Answer).decisions),
      );
      if (mode === 'peek') return metOf(parts, peeked, isAllowed);
      if (isAllowed) return await this.#take(question, parts, peeked, progress);
      for (const [i, part] of parts.entries()) this.#deny(part, peeked[i] as Answer, time);
      return metOf(parts, peeked, false);
    } catch (error) {
      if (!isTryAgain(error) || parts.every(({ keys }) => keys.length === 1)) throw error;
      return this.#ask(question, byWidth(parts.flatMap((part) => aloneOf(part))), progress);
    }
  }

  async #take(
    { time, onRefundFailed = ignore }: Question,
    parts: readonly Part[],
    peeked: readonly Answer[],
    progress: Progress,
  ): Promise<Met> {
    const { run, reservations } = this.#options;
    const answers: PartAnswer[] = [...peeked];
    const held: Part[] = [];
    let isAllowed = true;
    /** What is to be given back counts as held until it is. */
    const end = async (part: Part, i: number): Promise<void> => {
      const answer = answers[i] as PartAnswer;
      if (!isAllowed && answer.isTaken) {
        await this.#giveBack(part, answer, time).catch(onRefundFailed);
      }
      reservations.release(part.charges);
    };
    try {
      for (const [i, part] of parts.entries()) {
        // Nobody goes by an answer that is late: it is as if the charge had been denied.
        const taken = run('take', part, time, (answer) => {
          this.#giveBack(part, answer, time).catch(onRefundFailed);
        });
        // Others may ask for the same subjects before the answer is there.
        reservations.hold(part.charges);
        held.push(part);
        const answer = await taken;
        answers[i] = { ...answer, isTaken: true };
        isAllowed = isAdmitted(part.charges, answer.decisions) && !progress.isOver;
        if (!isAllowed) break;
      }
    } catch (error) {
      isAllowed = false;
      const ended = Promise.all(held.map(end));
      // What is tried again is not to be denied by itself.
      if (isTryAgain(error)) await ended;
      throw error;
    }
    void Promise.all(held.map(end));
    return metOf(parts, answers, isAllowed);
  }

  /** Where another one denies, those that are denied as well may be blocked for it, and what was carried over is kept. */
  #deny(part: Part, { decisions, known, nowMs }: Answer, time: Time): void {
    const denied = aloneOf(part, (i) => {
      const { quota } = part.charges[i] as Charge;
      const { state, shape } = known[i] as Known;
      const isReshaped = shape !== undefined && !hasShape(shape, quota);
      const isKept = quota.blockMs !== undefined || isReshaped || state.atMs > nowMs;
      return decisions[i]?.allowed === false && isKept;
    });
    for (const one of denied) this.#options.run('deny', one, time).catch(ignore);
  }

  /** Each is tried again as long as it is known not to have been done: else it might be done twice. */
  async #giveBack(part: Part, { decisions }: Answer, time: Time): Promise<void> {
    if (!isAdmitted(part.charges, decisions)) return;
    const taken = aloneOf(part, (i) => {
      return decisions[i]?.allowed === true && (part.charges[i] as Charge).cost > 0;
    });
    const keys = taken.flatMap((one) => one.keys);
    this.#options.onChanged(keys);
    const refunds = taken.map((one) => {
      const { atMs } = decisions[part.keys.indexOf(one.keys[0] as string)] as Decision;
      const charges: Refund[] = one.charges.map((charge) => ({ ...charge, atMs }));
      return { ...one, charges };
    });
    const giveBack = (one: Part): Promise<Answer> =>
      RETRIES.execute(() => this.#options.run('refund', one, time));
    try {
      await Promise.all(refunds.map(giveBack));
    } finally {
      this.#options.onChanged(keys);
    }
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
