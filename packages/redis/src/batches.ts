import { Batch, type Step, type Time, weightOf } from './batch.ts';
import { type GuardedCalls, isTryAgain } from './guarded-calls.ts';
import type { Servers } from './servers.ts';

/**
 * What waits to be sent: all that comes in one turn of the event loop travels in one call, of one slot on a cluster. The
 * turn is over before anything is waited for, so that a step that is alone is not delayed.
 */
export class Batches {
  readonly #servers: Servers;
  /** By slot. Each is sent to the server that it was begun for: that has let its steps in. */
  readonly #open: Map<number, Open> = new Map();
  #isScheduled = false;

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  /** Adds a step whose subjects are all in one slot. */
  add(slot: number, step: Step, time: Time): void {
    const calls = this.#open.get(slot)?.calls ?? this.#servers.of(slot);
    const refusal = step.isAwaited ? calls.enter() : undefined;
    if (refusal === undefined) this.#batchFor(slot, calls, step, time).add(step);
    else step.failed(refusal);
  }

  /** Sends all that waits, so that it comes before what is sent next. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { batch, calls } of open) send(batch, calls);
  };

  #batchFor(slot: number, calls: GuardedCalls, step: Step, time: Time): Batch {
    const open = this.#open.get(slot)?.batch;
    if (open !== undefined) {
      // By a clock of the user's, each step counts at the time at which it came.
      const isOfThatTime = open.time[0] === time[0];
      if (isOfThatTime && open.weight + weightOf(step) <= MOST_CHARGES) return open;
      send(open, calls);
    }
    const batch = new Batch(time);
    this.#open.set(slot, { batch, calls });
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      atEndOfTurn(this.flush);
    }
    return batch;
  }
}

interface Open {
  readonly batch: Batch;
  readonly calls: GuardedCalls;
}

function send(batch: Batch, calls: GuardedCalls): void {
  const read = (reply: unknown): void => batch.read(reply);
  const refusal = batch.isAwaited ? calls.refusal() : undefined;
  if (refusal !== undefined) batch.fail(refusal.error, { onlyAwaited: true });
  const isAsked = batch.isAwaited && refusal === undefined;
  if (isAsked || !batch.isAwaited || refusal?.isSentEvenSo) {
    const answer = isAsked ? calls.ask(() => batch.call, read) : calls.tell(() => batch.call, read);
    answer.then(read).catch((error) => fail(batch, calls, error));
    return;
  }
  const rest = batch.withoutAwaited();
  if (rest.weight > 0) send(rest, calls);
}

function fail(batch: Batch, calls: GuardedCalls, error: unknown): void {
  // Of a slot that is being moved, some keys are here and some are there: one by one, each is found.
  const alone = isTryAgain(error) ? batch.split() : [];
  if (alone.length < 2) batch.fail(error);
  else for (const one of alone) send(one, calls);
}

/**
 * About a millisecond of the server's time, and not much more for logs: 2 to 3 µs a charge where a script that does
 * nothing takes 0.75.
 */
const MOST_CHARGES = 256;

/** As it was when this was loaded: tests that fake time are answered too. */
const atEndOfTurn = globalThis.setImmediate;
