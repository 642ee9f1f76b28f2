import type { Decision } from './decision.ts';
import { type Degraded, type StoreErrorRule, strictest } from './degraded.ts';
import { FloodgateError, isFloodgateError, messageOf } from './errors.ts';
import type { FloodgateEvent } from './events.ts';
import { type LateCharge, LateTake } from './late-take.ts';
import { isPromise, type MaybePromise } from './maybe-promise.ts';
import type { MemoryStore } from './memory-store.ts';
import { divideQuota, limitOf, type Quota } from './quota.ts';
import { type StandIn, standInOf } from './stand-in.ts';
import { type Charge, checkCharges, type Store, type Subject } from './store.ts';
import { isAdmitted, type TakenCharge } from './verdict.ts';

/** What charges came to that no one store met as they were: one failed, or they live on several. */
export interface Taken {
  readonly decisions: readonly Decision[];
  /** As they were met: a quota may have been divided, or its block left out. */
  readonly charges: readonly Charge[];
  /** Where each was taken; `undefined` where no store could be asked. */
  readonly stores: readonly (Store | undefined)[];
  readonly degraded: Degraded | undefined;
  /** Those that a store may take too late, by index: they are to be settled as well. */
  readonly late: readonly (LateCharge | undefined)[];
}

/** What was answered in the place of a store that failed. */
export interface Substitute extends Taken {
  readonly degraded: Degraded;
}

/** What asking a backend comes to: its store's decisions, or what stands in for them. */
export type Answer = readonly Decision[] | Substitute;

export function isSubstitute(answer: Answer): answer is Substitute {
  return !Array.isArray(answer);
}

export interface BackendOptions {
  readonly store: Store;
  readonly ruleOf: (policy: string) => StoreErrorRule;
  /** How many processes share the limits while each counts by itself. */
  readonly instances: number;
  readonly report: (event: FloodgateEvent) => void;
  /** Told of what could not be given back. */
  readonly onRefundFailed: (error: unknown) => void;
}

/** A store, and what happens when it fails: it is never the reason for an outage. */
export class Backend {
  readonly store: Store;
  readonly #options: BackendOptions;
  readonly #memory: MemoryStore | undefined;
  readonly #standIn: StandIn;
  readonly #divided: WeakMap<Quota, Quota> = new WeakMap();
  #failing = false;
  /** Whether the operator has been told that the store fails, and when last. */
  #toldFailing = false;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #reportDroppedAt = 1;

  constructor(options: BackendOptions) {
    this.store = options.store;
    this.#options = options;
    this.#memory = isMemoryStore(options.store) ? options.store : undefined;
    this.#standIn = standInOf(options.store);
  }

  /** Whether the store decides in this process. */
  get isLocal(): boolean {
    return this.store.inProcess === true;
  }

  /** Asks the store; throws, or rejects, only for charges that no store could take. */
  take(charges: readonly TakenCharge[], mode: 'take' | 'peek'): MaybePromise<Answer> {
    const late =
      mode === 'take' && !this.isLocal
        ? new LateTake(this.store, charges, this.#options.onRefundFailed)
        : undefined;
    try {
      const answer = this.store.take(charges, mode === 'take' ? late : PEEK);
      if (Array.isArray(answer)) return this.#answered(answer, charges);
      return answer
        .then((decisions) => this.#answered(decisions, charges))
        .catch((error) => this.#substitute(error, charges, mode, late));
    } catch (error) {
      const substitute = this.#substitute(error, charges, mode, late);
      // A store behind a network answers in promises, also where it throws at once.
      return this.isLocal ? substitute : Promise.resolve(substitute);
    }
  }

  block(subjects: readonly Subject[], durationMs: number): MaybePromise<void> {
    this.#standIn.block(subjects, durationMs);
    return orStoreFailure(() => this.store.block(subjects, durationMs));
  }

  reset(subjects: readonly Subject[]): MaybePromise<void> {
    this.#standIn.reset(subjects);
    return orStoreFailure(() => this.store.reset(subjects));
  }

  #answered(decisions: readonly Decision[], charges: readonly Charge[]): readonly Decision[] {
    if (decisions.length !== charges.length || typeof decisions[0]?.allowed !== 'boolean') {
      throw new Error('it answered what are no decisions');
    }
    if (this.#failing) this.#recover();
    if (this.#memory === undefined) {
      this.#standIn.denials.note(charges, decisions, this.#isLocalRule);
    } else if (this.#memory.dropped >= this.#reportDroppedAt) {
      const { dropped } = this.#memory;
      this.#reportDroppedAt = dropped * 2;
      this.#options.report({
        code: 'keys-dropped',
        message:
          `The memory store had to forget ${dropped} keys that still counted: ` +
          'more clients than its `maxKeys` are active, so raise it.',
      });
    }
    return decisions;
  }

  #substitute(
    error: unknown,
    charges: readonly Charge[],
    mode: 'take' | 'peek',
    late: LateTake | undefined,
  ): Substitute {
    checkCharges(charges);
    const failure = toStoreFailure(error);
    const rules = charges.map(({ policy }) => this.#options.ruleOf(policy));
    this.#fail(failure, rules);
    const met = charges.map((charge, index) =>
      rules[index] === 'local' ? { ...charge, quota: this.#divide(charge.quota) } : charge,
    );
    const decisions = charges.map((charge, index) => {
      if (rules[index] === 'local') return this.#standIn.denials.of(charge, met[index] as Charge);
      return decideByRule(rules[index] === 'allow', charge.quota, this.#standIn.clock.now());
    });
    const denied = !isAdmitted(charges, decisions);
    const local = met.filter((_, index) => decisions[index] === undefined);
    const { memory } = this.#standIn;
    const answers = denied ? peekUncharged(memory, local) : memory.take(local, { mode });
    const substitute = {
      charges: met,
      decisions: decisions.map((decision) => decision ?? (answers.shift() as Decision)),
      stores: decisions.map((decision) => (decision === undefined && !denied ? memory : undefined)),
      degraded: { rule: strictest(rules), error: failure, rules },
      late: late === undefined ? [] : charges.map((_, index) => ({ take: late, index })),
    };
    if (!isAdmitted(met, substitute.decisions)) late?.unserved();
    return substitute;
  }

  readonly #isLocalRule = (policy: string): boolean => this.#options.ruleOf(policy) === 'local';

  #fail(error: FloodgateError, rules: readonly StoreErrorRule[]): void {
    this.#failing = true;
    const nowMs = this.#standIn.clock.now();
    // A store that fails every other time would otherwise be told of each time.
    if (this.#toldFailing || Math.abs(nowMs - this.#toldAtMs) < TOLD_EVERY_MS) return;
    this.#toldFailing = true;
    this.#toldAtMs = nowMs;
    this.#options.report({
      code: 'degraded',
      message: `${error.message}; until it answers, onStoreError decides: ${[...new Set(rules)].join(', ')}.`,
      error,
    });
  }

  #recover(): void {
    this.#failing = false;
    if (!this.#toldFailing) return;
    this.#toldFailing = false;
    this.#options.report({ code: 'recovered', message: 'The store answers again.' });
  }

  /** The same quota divides to the same object, which spares the memory store comparing them. */
  #divide(quota: Quota): Quota {
    let divided = this.#divided.get(quota);
    if (divided === undefined) {
      divided = divideQuota(quota, this.#options.instances);
      this.#divided.set(quota, divided);
    }
    return divided;
  }
}

/** By what it has: it may come from another copy of this package. */
export function isMemoryStore(store: Store): store is MemoryStore {
  return store.inProcess === true && 'dropped' in store;
}

const PEEK = { mode: 'peek' } as const;

/** What charges would get of which the group is denied elsewhere: those with room say what they have left. */
function peekUncharged(store: MemoryStore, charges: readonly Charge[]): Decision[] {
  const answers = store.take(charges, PEEK);
  const uncharged = charges.map((charge, index) =>
    answers[index]?.allowed === true ? { ...charge, cost: 0 } : charge,
  );
  return store.take(uncharged, PEEK);
}

const TOLD_EVERY_MS = 1000;

/** How long a client is told to wait while the store fails and everything is denied. */
const RETRY_AFTER_FAILURE_MS = 1000;

function decideByRule(allowed: boolean, quota: Quota, atMs: number): Decision {
  const waitMs = allowed ? 0 : RETRY_AFTER_FAILURE_MS;
  return {
    allowed,
    limit: limitOf(quota),
    remaining: allowed ? limitOf(quota) : 0,
    retryAfterMs: waitMs,
    resetAtMs: atMs + waitMs,
    delayMs: 0,
    blocked: false,
    atMs,
  };
}

/** Does what an operator asks for, who is to know if it fails. */
function orStoreFailure(work: () => MaybePromise<void>): MaybePromise<void> {
  const fail = (error: unknown): never => {
    throw toStoreFailure(error);
  };
  try {
    const done = work();
    return isPromise(done) ? done.then(undefined, fail) : done;
  } catch (error) {
    return fail(error);
  }
}

/** Rethrows what is the caller's mistake: no other store could take such charges. */
function toStoreFailure(error: unknown): FloodgateError {
  if (isFloodgateError(error)) {
    if (error.code === 'FLOODGATE_STORE_FAILED') return error;
    throw error;
  }
  return new FloodgateError('FLOODGATE_STORE_FAILED', `The store failed (${messageOf(error)})`, {
    cause: error,
  });
}
