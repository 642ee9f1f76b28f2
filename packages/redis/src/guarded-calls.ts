import { FloodgateError } from '@floodgate/core';
import { messageOf } from '@floodgate/core/internal';
import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleAll,
} from 'cockatiel';
import type { Connection } from './client.ts';
import { inTime } from './in-time.ts';
import type { Script } from './scripts.ts';

/** A script, and what it is called with. */
export interface Call {
  readonly script: Script;
  readonly keys: string[];
  readonly args: string[];
}

/** Why a server is not asked now. */
export interface Refusal {
  readonly error: FloodgateError;
  /** Whether what nobody waits for any more is to be sent all the same. */
  readonly isSentEvenSo: boolean;
}

/** Calls to a server that may be slow, or away: none takes longer than the deadline, and a dead server is left alone. */
export class GuardedCalls {
  readonly #connection: Connection;
  readonly timeoutMs: number;
  #breaker: CircuitBreakerPolicy = this.#newBreaker();
  #isOpenTo: 'all' | 'one' | 'none' = 'all';
  /** Whether that one has come, and has not been sent yet. */
  #isReserved = false;

  constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection;
    this.timeoutMs = timeoutMs;
  }

  /** Whether nothing is known against it: neither that the client lost it, nor that it has been silent. */
  get isAnswering(): boolean {
    return this.#isOpenTo === 'all' && this.#connection.state() === 'ready';
  }

  /** Lets in what a request is to wait for: of a server that was silent, one, which finds out whether it is back. */
  enter(): FloodgateError | undefined {
    if (this.#connection.state() === 'away') return failure(AWAY);
    if (this.#isOpenTo === 'none') return failure(LEFT_ALONE);
    if (this.#isOpenTo === 'one') {
      this.#isOpenTo = 'none';
      this.#isReserved = true;
    }
    return undefined;
  }

  /** Why what was let in cannot be sent after all. */
  refusal(): Refusal | undefined {
    const state = this.#connection.state();
    if (state === 'ready' && (this.#isOpenTo !== 'none' || this.#isReserved)) return undefined;
    if (this.#isReserved) {
      this.#isReserved = false;
      this.#isOpenTo = 'one';
    }
    // The client connects only if something is sent; nobody has to wait for that.
    if (state === 'lazy') return { error: failure(CONNECTING), isSentEvenSo: true };
    return { error: failure(state === 'away' ? AWAY : LEFT_ALONE), isSentEvenSo: false };
  }

  /**
   * Runs a script that a request waits for. Rejects with `FLOODGATE_STORE_FAILED`; if the server replies even so, after
   * that, `onLate` gets what it says.
   */
  ask(call: () => Call, onLate: (reply: unknown) => void): Promise<unknown> {
    this.#isReserved = false;
    return this.#breaker
      .execute(() => this.#inTime(this.#send(call), onLate).then(toReply, toErrorReply))
      .then(({ reply, error }) => (error === undefined ? reply : fail(error)), fail);
  }

  /**
   * Runs a script that no request waits for, whatever is known of the server: a client that is not connected keeps it
   * until it is, so that what is to be counted, or blocked, is not lost. Rejects as above, in time.
   */
  tell(call: () => Call, onLate: (reply: unknown) => void): Promise<unknown> {
    return this.#inTime(this.#send(call), onLate).catch(fail);
  }

  /** A breaker; with `initialState`, one that lets a single call find out whether the server is back. */
  #newBreaker(initialState?: unknown): CircuitBreakerPolicy {
    const breaker = circuitBreaker(handleAll, {
      breaker: new ConsecutiveBreaker(SILENT_CALLS_UNTIL_OPEN),
      halfOpenAfter: NEVER_BY_ITSELF_MS,
      ...(initialState === undefined ? {} : { initialState }),
    });
    breaker.onReset(() => {
      this.#isOpenTo = 'all';
    });
    breaker.onBreak(() => {
      this.#isOpenTo = 'none';
      const askAgain = (): void => {
        this.#breaker = this.#newBreaker(OPEN_SINCE_1970);
        this.#isOpenTo = 'one';
      };
      setTimeout(askAgain, ASKED_AGAIN_AFTER_MS).unref();
    });
    return breaker;
  }

  /** Sends; what is thrown at once is a rejection as well. */
  async #send(call: () => Call): Promise<unknown> {
    const { script, keys, args } = call();
    return this.#connection.run(script, keys, args);
  }

  #inTime(answer: Promise<unknown>, onLate: (reply: unknown) => void): Promise<unknown> {
    return inTime(answer, this.timeoutMs, {
      onLate,
      lateness: () => {
        const isReady = this.#connection.state() === 'ready';
        return new Silence(isReady ? noAnswerWithin(this.timeoutMs) : AWAY);
      },
    });
  }
}

/** How often a server that has been silent is asked whether it is back. */
const ASKED_AGAIN_AFTER_MS = 500;
const SILENT_CALLS_UNTIL_OPEN = 5;

/**
 * cockatiel counts that time by the system's clock: set back by an hour, it would leave a server alone for as long. A
 * timer knows better; after it, a breaker that has been open for decades takes the place of the old one.
 */
const NEVER_BY_ITSELF_MS = 86_400_000;
const OPEN_SINCE_1970 = {
  ownState: { value: CircuitState.Open, openedAt: 0, attemptNo: 1 },
  breakerState: SILENT_CALLS_UNTIL_OPEN,
};

const AWAY = 'the client is not connected';
const CONNECTING = 'the client is only now connecting';
const LEFT_ALONE = 'it has not answered for a while, and is being asked now and then';

/** No answer in time. */
class Silence extends Error {}

interface Reply {
  readonly reply?: unknown;
  /** What the server replied, where that is an error. */
  readonly error?: unknown;
}

function toReply(reply: unknown): Reply {
  return { reply };
}

/** A server that replies, be it with an error, is there: only silence and a lost connection count against it. */
function toErrorReply(error: unknown): Reply {
  // A call that could not even be made says nothing of the server.
  if (error instanceof RangeError || error instanceof TypeError) return { error };
  if (error instanceof Error && REPLIED.test(error.message)) return { error };
  throw error;
}

const A_NODE_OF_A_CLUSTER =
  'this server is a node of a cluster, and `client` is not one of a cluster';

/** Error replies begin with a word in capitals: `LOADING …`, `READONLY …`, `ERR …`. */
const REPLIED = /^[A-Z]+ /;

/** Whether a call failed since of a slot that is being moved a part is on one node and a part on another. */
export function isTryAgain(error: unknown): boolean {
  return /^(TRYAGAIN|ASK) /.test(messageOfCause(error));
}

/** Whether a call that failed is known not to have been done, and may be by the next time. */
export function isUndone(error: unknown): boolean {
  return UNDONE.test(messageOfCause(error));
}

/** What a server replies before it does anything; or what the client of a cluster was told last, when it gave up. */
const UNDONE =
  /^(Too many Cluster redirections\. Last error: ReplyError: )?(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|LOADING|READONLY|BUSY|MISCONF|NOREPLICAS|OOM) /;

function messageOfCause(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? cause.message : '';
}

function fail(error: unknown): never {
  if (error instanceof Error && 'isBrokenCircuitError' in error) throw failure(LEFT_ALONE);
  const message = messageOf(error);
  const isOfCluster = /^(MOVED|CROSSSLOT) /.test(message);
  throw failure(isOfCluster ? `${message}; ${A_NODE_OF_A_CLUSTER}` : message, error);
}

/** The error of a server, or of several, that were not in time. */
export function overdue(timeoutMs: number): FloodgateError {
  return failure(noAnswerWithin(timeoutMs));
}

function noAnswerWithin(timeoutMs: number): string {
  return `it gave no answer within ${timeoutMs} ms`;
}

function failure(reason: string, cause?: unknown): FloodgateError {
  return new FloodgateError('FLOODGATE_STORE_FAILED', `Redis failed (${reason})`, { cause });
}
