import { Batch, type Step, type Time } from './batch.ts';
import { isTryAgain } from './guarded-calls.ts';
import type { Servers } from './servers.ts';

/**
 * What waits to be sent: all that comes in one turn of the event loop travels in one call, of one slot on a cluster. The
 * turn is over before anything is waited for, so that a step that is alone is not delayed.
 */
export class Batches {
  readonly #servers: Servers;
  readonly #open: Map<number, Batch> = new Map();
  #isScheduled = false;

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  /** Adds a step whose subjects are all in one slot. */
  add(slot: number, step: Step, time: Time): void {
    const refusal = step.isAwaited ? this.#servers.of(slot).enter() : undefined;
    if (refusal !== undefined) {
      step.failed(refusal);
      return;
    }
    let batch = this.#open.get(slot);
    // By a clock of the user's, each step counts at the time at which it came.
    if (
      batch !== undefined &&
      (batch.time[0] !== time[0] || batch.weight + step.keys.length > MOST_CHARGES)
    ) {
      this.#send(slot, batch);
      batch = undefined;
    }
    if (batch === undefined) {
      batch = new Batch(time);
      this.#open.set(slot, batch);
    }
    batch.add(step);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    atEndOfTurn(this.flush);
  }

  /** Sends all that waits, so that it comes before what is sent next. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    const batches = [...this.#open];
    this.#open.clear();
    for (const [slot, batch] of batches) this.#send(slot, batch);
  };

  #send(slot: number, batch: Batch): void {
    const calls = this.#servers.of(slot);
    const read = (reply: unknown): void => batch.read(reply);
    const fail = (error: unknown): void => {
      // Of a slot that is being moved, some keys are here and some are there: one by one, each is found.
      const alone = isTryAgain(error) ? batch.split() : [];
      if (alone.length < 2) batch.fail(error);
      else for (const one of alone) this.#send(slot, one);
    };
    if (!batch.isAwaited) {
      calls.tell(batch.call).then(read).catch(fail);
      return;
    }
    const refusal = calls.refusal();
    if (refusal === undefined) {
      calls.ask(batch.call, read).then(read).catch(fail);
      return;
    }
    batch.fail(refusal.error, { onlyAwaited: true });
    const rest = refusal.isSentEvenSo ? batch : batch.withoutAwaited();
    if (rest.weight > 0)
      calls
        .tell(rest.call)
        .then((reply) => rest.read(reply))
        .catch((error) => rest.fail(error));
  }
}

/** About a millisecond of the server's time. */
const MOST_CHARGES = 256;

/** As it was when this was loaded: tests that fake time are answered too. */
const atEndOfTurn = globalThis.setImmediate;
