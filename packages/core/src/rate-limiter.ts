import { type Answer, type Backend, isMemoryStore, isSubstitute, type Taken } from './backend.ts';
import { Backends } from './backends.ts';
import { type Duration, toMilliseconds } from './duration.ts';
import { checkOptions, messageOf } from './errors.ts';
import { callHook, type FloodgateEvent, reportEvent } from './events.ts';
import { andThen, isPromise, type MaybePromise, runSteps } from './maybe-promise.ts';
import { MemoryStore } from './memory-store.ts';
import { Policies } from './policies.ts';
import {
  type ChargeRequest,
  type CostOption,
  checkLimiterOptions,
  type Policy,
  type RateLimiterOptions,
  type WaitOptions,
} from './rate-limiter-options.ts';
import { Reservations } from './reservations.ts';
import { checkCharges, type Store, type Subject } from './store.ts';
import { takeAcross } from './take-across.ts';
import { type Ledger, type TakenCharge, Verdict } from './verdict.ts';
import { waitForAdmission } from './wait-for-admission.ts';

/** What a limiter with these stores answers: at once where they do, a promise where one of them does. */
export type AnswerOf<S extends Store, T> = [
  Extract<ReturnType<S['take']>, Promise<unknown>>,
] extends [never]
  ? T
  : [Exclude<ReturnType<S['take']>, Promise<unknown>>] extends [never]
    ? Promise<T>
    : MaybePromise<T>;

/**
 * Meets requests with several policies at once, all or nothing.
 *
 * @example
 * const limiter = new RateLimiter({
 *   policies: [{ name: 'per-minute', quota: '60/1m' }, { name: 'per-day', quota: '1000/1d' }],
 * });
 * const verdict = limiter.take('user:42');
 * if (!verdict.allowed) console.log(`wait ${verdict.retryAfterMs} ms for ${verdict.tightest.policy}`);
 */
export class RateLimiter<S extends Store = MemoryStore, P extends Store = S> {
  readonly #options: RateLimiterOptions;
  readonly #policies: Policies;
  readonly #allBackends: Backends;
  /** Those of the policies, and the main one. */
  readonly #backends: readonly Backend[];
  /** Where policies go that have no store of their own, and charges of no policy. */
  readonly #main: Backend;
  readonly #mainLedger: Ledger;
  readonly #ownStore: Store | undefined;
  readonly #reservations: Reservations;
  readonly #onVerdict: ((verdict: Verdict) => unknown) | undefined;
  readonly #report: (event: FloodgateEvent) => void;

  /**
   * `base` is the limiter that {@link extend} extends.
   *
   * @throws FloodgateError `FLOODGATE_INVALID_OPTION`, `FLOODGATE_INVALID_QUOTA`
   */
  constructor(options: RateLimiterOptions<S, P>, base?: RateLimiter<S, P>) {
    checkLimiterOptions(options);
    const { policies, store, onStoreError = 'local', instances = 1, onVerdict, onEvent } = options;
    this.#options = options;
    this.#onVerdict = onVerdict;
    if (base === undefined) {
      this.#report = (event) => reportEvent(onEvent, event);
      this.#ownStore = store === undefined ? new MemoryStore() : undefined;
      this.#allBackends = new Backends({
        onStoreError,
        instances,
        report: this.#report,
        onRefundFailed: this.#onSettleFailed,
      });
      this.#main = this.#allBackends.of(store ?? (this.#ownStore as Store));
      this.#reservations = new Reservations();
    } else {
      this.#report = base.#report;
      this.#ownStore = undefined;
      this.#allBackends = base.#allBackends;
      this.#main = base.#main;
      this.#reservations = base.#reservations;
    }
    for (const policy of policies) this.#allBackends.setRule(policy);
    this.#policies = new Policies(policies, (store) =>
      store === undefined ? this.#main : this.#allBackends.of(store),
    );
    this.#backends = [...new Set([this.#main, ...this.#policies.backends])];
    this.#mainLedger = this.#ledgerOf(this.#main.store);
    if (base === undefined) this.#warnOfSeveralProcesses();
  }

  /**
   * A limiter that meets these policies as well, or with `replace` only these, on the same stores: units that the one counts, the other sees, and
   * blocks and failures of a store too. The stores stay the first one's to close.
   *
   * @throws FloodgateError `FLOODGATE_INVALID_OPTION`, `FLOODGATE_INVALID_QUOTA`
   */
  extend(policies: readonly Policy<P>[], replace = false): RateLimiter<S, P> {
    const all = replace ? policies : [...this.#options.policies, ...policies];
    const options = { ...this.#options, policies: all } as unknown as RateLimiterOptions<S, P>;
    return new RateLimiter(options, this);
  }

  /**
   * Meets every policy with one key, or those that are named, each with a key of its own: all or nothing.
   *
   * @throws FloodgateError `FLOODGATE_INVALID_CHARGE`, `FLOODGATE_UNKNOWN_POLICY`, `FLOODGATE_DUPLICATE_SUBJECT`
   */
  take(whose: string | readonly ChargeRequest[], options?: CostOption): AnswerOf<S | P, Verdict> {
    const verdict = this.#meet(this.#policies.chargesOf(whose, options), 'take');
    if (this.#onVerdict !== undefined) {
      if (isPromise(verdict)) {
        return verdict.then((verdict) => this.#tell(verdict)) as AnswerOf<S | P, Verdict>;
      }
      this.#tell(verdict);
    }
    return verdict as AnswerOf<S | P, Verdict>;
  }

  /** What {@link take} would answer; changes nothing. A cost of 0 asks what is left. */
  peek(whose: string | readonly ChargeRequest[], options?: CostOption): AnswerOf<S | P, Verdict> {
    return this.#meet(this.#policies.chargesOf(whose, options), 'peek') as AnswerOf<S | P, Verdict>;
  }

  /** Denies a key, in every policy or in those named, for some time from now, whatever block there was. */
  block(whose: string | readonly Subject[], duration: Duration): AnswerOf<S | P, void> {
    const durationMs = toMilliseconds(duration, 'duration');
    return this.#forSubjects(whose, (backend, subjects) => backend.block(subjects, durationMs));
  }

  /** Lifts a block; what was counted stays. */
  unblock(whose: string | readonly Subject[]): AnswerOf<S | P, void> {
    return this.#forSubjects(whose, (backend, subjects) => backend.block(subjects, 0));
  }

  /** Forgets what a key has used, and its block. */
  reset(whose: string | readonly Subject[]): AnswerOf<S | P, void> {
    return this.#forSubjects(whose, (backend, subjects) =>
      backend.reset(this.#policies.countedOf(subjects)),
    );
  }

  /**
   * For workers: takes, and where it is denied waits and takes again, until it is admitted; of a shaped leaky bucket,
   * until its turn has come.
   *
   * @throws FloodgateError `FLOODGATE_NEVER_ADMITTED` for a cost above the limit, `FLOODGATE_WAIT_TOO_LONG` where it
   *   would take longer than `maxWait` (`error.retryAfterMs` says how long); the signal's reason when it aborts
   */
  async wait(
    whose: string | readonly ChargeRequest[],
    options: WaitOptions = {},
  ): Promise<Verdict> {
    const known = ['cost', 'signal', 'maxWait'];
    checkOptions('FLOODGATE_INVALID_OPTION', 'wait options', options, known);
    const { cost, signal, maxWait } = options;
    const costOption = cost === undefined ? undefined : { cost };
    return waitForAdmission({
      take: () => this.take(whose, costOption),
      clockOf: ({ tightest }) => this.#backendOf(tightest.policy).store.clock,
      signal,
      maxWaitMs:
        maxWait === undefined ? Number.POSITIVE_INFINITY : toMilliseconds(maxWait, 'maxWait'),
    });
  }

  /** Closes the store that this limiter made; one that it was given belongs to who made it. */
  close(): void {
    void this.#ownStore?.close();
  }

  #meet(charges: readonly TakenCharge[], mode: 'take' | 'peek'): MaybePromise<Verdict> {
    if (this.#backends.length > 1) {
      const backends = charges.map(({ policy }) => this.#backendOf(policy));
      if (backends.some((backend) => backend !== this.#main)) {
        return this.#meetAcross(charges, backends, mode);
      }
    }
    const spared = this.#reservations.sparing(charges);
    const answer = this.#main.take(spared, mode);
    return !Array.isArray(answer) && isPromise(answer)
      ? answer.then((answer) => this.#verdict(spared, answer, mode))
      : this.#verdict(spared, answer, mode);
  }

  #verdict(charges: readonly TakenCharge[], answer: Answer, mode: 'take' | 'peek'): Verdict {
    if (isSubstitute(answer)) return this.#verdictOf(answer, mode);
    return new Verdict(charges, answer, mode === 'take' ? this.#mainLedger : undefined, undefined);
  }

  #verdictOf(taken: Taken, mode: 'take' | 'peek'): Verdict {
    const { charges, decisions, stores, degraded, late } = taken;
    const ledger = this.#ledgerOf(stores, late);
    return new Verdict(charges, decisions, mode === 'take' ? ledger : undefined, degraded);
  }

  #ledgerOf(stores: Ledger['stores'], late: Ledger['late'] = []): Ledger {
    return { stores, onSettleFailed: this.#onSettleFailed, late, isPolicy: this.#isPolicy };
  }

  readonly #isPolicy = (name: string): boolean => this.#policies.find(name) !== undefined;

  #meetAcross(
    charges: readonly TakenCharge[],
    backends: readonly Backend[],
    mode: 'take' | 'peek',
  ): MaybePromise<Verdict> {
    checkCharges(charges);
    const steps = takeAcross(charges, backends, mode, this.#reservations, this.#onSettleFailed);
    return andThen(runSteps(steps), (taken) => this.#verdictOf(taken, mode));
  }

  #tell(verdict: Verdict): Verdict {
    const onVerdict = this.#onVerdict as (verdict: Verdict) => unknown;
    callHook(
      () => onVerdict(verdict),
      (error) =>
        this.#report({
          code: 'warning',
          reason: 'hook-threw',
          message: `onVerdict threw: ${messageOf(error)}`,
          error,
        }),
    );
    return verdict;
  }

  readonly #onSettleFailed = (error: unknown): void => {
    const message = 'A true cost, or a charge to be given back, could not be written.';
    this.#report({ code: 'settle-failed', message, error });
  };

  #forSubjects(
    whose: string | readonly Subject[],
    act: (backend: Backend, subjects: readonly Subject[]) => MaybePromise<void>,
  ): AnswerOf<S | P, void> {
    const subjects = this.#policies.subjectsOf(whose);
    const pending: Promise<void>[] = [];
    for (const backend of this.#backends) {
      const part = subjects.filter(({ policy }) => this.#backendOf(policy) === backend);
      if (part.length === 0) continue;
      try {
        const work = act(backend, part);
        if (isPromise(work)) pending.push(work);
      } catch (error) {
        // The others are waited for even so, and what they reject with is not left to nobody.
        if (pending.length === 0) throw error;
        pending.push(Promise.reject(error));
      }
    }
    // Without a subject no store was asked: where all answer in promises, so does this.
    const isRemote = subjects.length === 0 && this.#backends.every(({ isLocal }) => !isLocal);
    const atOnce = pending.length === 0 && !isRemote;
    const done = atOnce ? undefined : Promise.all(pending).then(() => undefined);
    return done as AnswerOf<S | P, void>;
  }

  #backendOf(policy: string): Backend {
    return this.#policies.find(policy)?.backend ?? this.#main;
  }

  #warnOfSeveralProcesses(): void {
    if (isClusterWorker() && this.#backends.some(({ store }) => isMemoryStore(store))) {
      this.#report({
        code: 'warning',
        reason: 'memory-store-in-cluster',
        message: ONE_OF_SEVERAL_PROCESSES,
      });
    }
  }
}

/** Workers of one server, each with a memory store, would each allow the whole limit. */
const ONE_OF_SEVERAL_PROCESSES =
  'This process is one of several workers, and a memory store counts for one process only: together they admit a ' +
  'multiple of the limit. Use a store that they share.';

/** Asked of Node.js where there is one: an import would keep this from running anywhere else. */
function isClusterWorker(): boolean {
  const cluster: unknown = globalThis.process?.getBuiltinModule?.('cluster');
  return (cluster as { readonly isWorker?: boolean } | undefined)?.isWorker === true;
}
