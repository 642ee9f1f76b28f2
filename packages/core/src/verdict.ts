import type { Decision } from './decision.ts';
import { type Degraded, type StoreErrorRule, strictest } from './degraded.ts';
import { FloodgateError, invalid } from './errors.ts';
import type { LateCharge } from './late-take.ts';
import { isPromise, type MaybePromise, runSteps, type Steps } from './maybe-promise.ts';
import { askUncharged, refundTaken, settleCharge, type Taken } from './settlement.ts';
import type { Charge, Store } from './store.ts';

/** A decision, and the charge that it answers. */
export interface PolicyDecision extends Decision {
  readonly policy: string;
  readonly key: string;
  readonly cost: number;
  /** Whether the policy only watches: its denial denies nothing. */
  readonly advisory: boolean;
  /** The rule that decided because the policy's store failed; else `undefined`. */
  readonly degraded: StoreErrorRule | undefined;
}

/** A charge as a limiter takes it. */
export interface TakenCharge extends Charge {
  /**
   * Of a policy whose costs are settled: for how long it blocks a subject once what is settled fills the quota. The
   * quota itself has no block then, since a denial may be due to what is merely reserved.
   */
  readonly blockMsOnceSettled?: number | undefined;
}

/** Where the charges of a verdict were taken, for settling them there. */
export interface Ledger {
  /** The store of each charge, or of all; `undefined` where none could be asked. */
  readonly stores: Store | readonly (Store | undefined)[];
  readonly onSettleFailed: (error: unknown) => void;
  /** Charges that a store may take too late, by index: what they come to is said to that store as well. */
  readonly late: readonly (LateCharge | undefined)[];
  /** Whether a name is that of a policy, which this time may have been left out. */
  readonly isPolicy: (name: string) => boolean;
}

/** What all of several verdicts on one request come to. Settling it settles them. */
export let combineVerdicts: (parts: readonly Verdict[]) => Verdict;

/** Whether the cost that a policy took is still to be settled. */
export let isUnsettled: (verdict: Verdict, policy: string) => boolean;

/**
 * Gives back what a verdict took and is not settled, since its request is denied by somebody else: what it answers says
 * what is left now. A store that fails is reported as `settle-failed`.
 */
export let giveBack: (verdict: Verdict) => MaybePromise<Verdict>;

/** What all policies together answer to one request. */
export class Verdict {
  /** Whether the request may pass: no policy but advisory ones denied it. */
  readonly allowed: boolean;
  /** Set where a store failed and `onStoreError` decided in its place. */
  readonly degraded: Degraded | undefined;
  readonly #charges: readonly TakenCharge[];
  readonly #answers: readonly Decision[];
  readonly #ledger: Ledger | undefined;
  #decisions: readonly PolicyDecision[] | undefined;
  /** The charges that are settled, by index. */
  #settled: Set<number> | undefined;
  /** What this verdict is made of, where several limiters met one request: they are who settles. */
  #parts: readonly Verdict[] | undefined;

  /** Verdicts are made by a `RateLimiter`. Without a ledger nothing was charged, and there is nothing to settle. */
  constructor(
    charges: readonly TakenCharge[],
    answers: readonly Decision[],
    ledger: Ledger | undefined,
    degraded: Degraded | undefined,
  ) {
    this.allowed = isAdmitted(charges, answers);
    this.degraded = degraded;
    this.#charges = charges;
    this.#answers = answers;
    this.#ledger = ledger;
    this.#decisions = undefined;
    this.#settled = undefined;
    this.#parts = undefined;
  }

  static {
    combineVerdicts = (parts) => {
      const charges = parts.flatMap((part) => part.#charges);
      const answers = parts.flatMap((part) => part.#answers);
      const whole = new Verdict(charges, answers, undefined, degradedOf(parts));
      whole.#parts = parts;
      return whole;
    };
    isUnsettled = (verdict, policy) => {
      if (!verdict.allowed || verdict.#ledger === undefined) return false;
      return verdict.#charges.some(
        (charge, index) =>
          charge.policy === policy &&
          verdict.#answers[index]?.allowed === true &&
          verdict.#settled?.has(index) !== true,
      );
    };
    giveBack = (verdict) => runSteps(verdict.#giveBack());
  }

  /** False where every policy is advisory: then the verdict binds nobody, whatever its decisions say. */
  get enforced(): boolean {
    return this.#charges.some(({ advisory }) => advisory !== true);
  }

  /** One for each policy that was asked, in their order. */
  get decisions(): readonly PolicyDecision[] {
    if (this.#decisions === undefined) {
      this.#decisions = this.#answers.map((decision, index) => {
        const { policy, key, cost, advisory = false } = this.#charges[index] as Charge;
        const degraded = this.degraded?.rules[index];
        // Field by field: a spread would leave half of them outside of the object, at five times the cost.
        return {
          policy,
          key,
          cost,
          advisory,
          degraded,
          allowed: decision.allowed,
          limit: decision.limit,
          remaining: decision.remaining,
          retryAfterMs: decision.retryAfterMs,
          resetAtMs: decision.resetAtMs,
          delayMs: decision.delayMs,
          blocked: decision.blocked,
          atMs: decision.atMs,
        };
      });
    }
    return this.#decisions;
  }

  /** The decision of one policy; `undefined` where it was not asked. */
  decision(policy: string): PolicyDecision | undefined {
    return this.decisions.find((decision) => decision.policy === policy);
  }

  /**
   * The decision that a header with room for one reports: the denying one with the longest wait, else the one with
   * the least share of its limit left; the first of equals. Advisory ones count only where there is no other.
   */
  get tightest(): PolicyDecision {
    const { enforced } = this;
    return tightestOf(
      enforced ? this.decisions.filter(({ advisory }) => !advisory) : this.decisions,
    ) as PolicyDecision;
  }

  /** 0 if allowed; else the longest wait, in milliseconds, of those that denied; `Infinity` where none would help. */
  get retryAfterMs(): number {
    if (this.allowed) return 0;
    return this.#most(({ allowed, retryAfterMs }) => (allowed ? 0 : retryAfterMs));
  }

  /** How many milliseconds to wait before serving, so that leaky buckets leave at their rate; else 0. */
  get delayMs(): number {
    return this.allowed ? this.#most(({ delayMs }) => delayMs) : 0;
  }

  /**
   * By how many units all processes together may admit more than one sequential limiter would: 0 where a store decides
   * each request by itself, `Infinity` where a store failed and requests passed without it.
   */
  get bound(): number {
    const { degraded } = this;
    return degraded === undefined || degraded.rule === 'deny' ? 0 : Number.POSITIVE_INFINITY;
  }

  /** What the verdict says, as plain data: for logs, and for answers to operators. */
  toJSON(): object {
    const { allowed, enforced, retryAfterMs, delayMs, bound, degraded, decisions } = this;
    const rule = degraded?.rule;
    return { allowed, enforced, retryAfterMs, delayMs, bound, degraded: rule, decisions };
  }

  /**
   * Replaces the cost that was taken by the true one, known afterwards: gives back the difference, or charges it even
   * into debt. One number holds for every policy, an object for those that it names, if they were charged. The first
   * time counts for each policy, later ones change nothing; nor does settling what was denied. A store that fails is
   * reported as `settle-failed`, and the cost that was taken stands.
   *
   * @throws FloodgateError `FLOODGATE_INVALID_CHARGE` for what is no whole number, `FLOODGATE_UNKNOWN_POLICY`
   */
  settle(cost: number | Readonly<Record<string, number>>): void | Promise<void> {
    const costs = this.#costsToSettle(cost);
    const pending: PromiseLike<void>[] = [];
    if (this.#parts === undefined) {
      for (const [index, trueCost] of costs) this.#settleOne(index, trueCost, pending);
    } else {
      // All in order, whether or not one of them has to wait.
      let first = 0;
      for (const part of this.#parts) {
        const last = first + part.#charges.length;
        for (const [index, trueCost] of costs) {
          if (index >= first && index < last) part.#settleOne(index - first, trueCost, pending);
        }
        first = last;
      }
    }
    if (pending.length > 0) return Promise.all(pending).then(() => undefined);
  }

  #settleOne(index: number, trueCost: number, pending: PromiseLike<void>[]): void {
    const late = this.#ledger?.late[index];
    if (this.allowed) late?.take.settle(late.index, trueCost);
    const taken = this.#takenAt(index);
    if (taken === undefined) return;
    const work = runSteps(settleCharge(taken, trueCost));
    if (isPromise(work)) pending.push(work);
  }

  /** What a charge took, unless it is settled: it is then. */
  #takenAt(index: number): Taken | undefined {
    const { allowed, atMs } = this.#answers[index] as Decision;
    if (!this.allowed || !allowed || this.#ledger === undefined) return undefined;
    const { stores, onSettleFailed } = this.#ledger;
    const store = isOneStore(stores) ? stores : stores[index];
    this.#settled ??= new Set();
    if (store === undefined || this.#settled.has(index)) return undefined;
    this.#settled.add(index);
    const charge = this.#charges[index] as TakenCharge;
    return { store, charge, atMs, onFailed: onSettleFailed };
  }

  *#giveBack(): Steps<Verdict> {
    for (const late of this.#ledger?.late ?? []) late?.take.settle(late.index, 0);
    const failed = new Set<Store>();
    const all = this.#charges.map((_, index) => {
      const one = this.#takenAt(index);
      if (one === undefined) return undefined;
      const onFailed = (error: unknown): void => {
        failed.add(one.store);
        one.onFailed(error);
      };
      return { ...one, onFailed };
    });
    const taken = all.filter((one) => one !== undefined);
    yield* refundTaken(taken);
    // A store that failed is not waited for once more.
    const left = yield* askUncharged(taken.filter(({ store }) => !failed.has(store)));
    const answers = this.#answers.map((answer, index) => left.get(all[index] as Taken) ?? answer);
    return new Verdict(this.#charges, answers, undefined, this.degraded);
  }

  /** The index of each charge to settle, with its true cost. */
  #costsToSettle(cost: number | Readonly<Record<string, number>>): [number, number][] {
    const charges = this.#charges;
    if (typeof cost !== 'object' || cost === null) {
      checkCost(cost);
      return charges.map((_, index) => [index, cost]);
    }
    return Object.entries(cost).flatMap(([policy, trueCost]) => {
      checkCost(trueCost);
      const indexes = charges.flatMap((charge, index) => (charge.policy === policy ? index : []));
      if (indexes.length === 0 && !this.#isPolicy(policy)) {
        const known = charges.map((charge) => `\`${charge.policy}\``).join(', ');
        throw new FloodgateError(
          'FLOODGATE_UNKNOWN_POLICY',
          `Expected a policy of this verdict (${known}) to settle, got \`${policy}\``,
        );
      }
      return indexes.map((index): [number, number] => [index, trueCost]);
    });
  }

  #isPolicy(name: string): boolean {
    if (this.#parts !== undefined) return this.#parts.some((part) => part.#isPolicy(name));
    return this.#ledger?.isPolicy(name) === true;
  }

  #most(of: (decision: Decision) => number): number {
    let most = 0;
    for (let i = 0; i < this.#charges.length; i += 1) {
      const answer = this.#answers[i] as Decision;
      if (this.#charges[i]?.advisory !== true) most = Math.max(most, of(answer));
    }
    return most;
  }
}

function degradedOf(parts: readonly Verdict[]): Degraded | undefined {
  const error = parts.find(({ degraded }) => degraded !== undefined)?.degraded?.error;
  if (error === undefined) return undefined;
  const rules = parts.flatMap(
    ({ degraded, decisions }) => degraded?.rules ?? decisions.map(() => undefined),
  );
  return { rule: strictest(rules), error, rules };
}

/** Whether a group is admitted: no charge of it was denied but advisory ones. */
export function isAdmitted(
  charges: readonly Charge[],
  decisions: readonly (Decision | undefined)[],
): boolean {
  for (let i = 0; i < charges.length; i += 1) {
    if (decisions[i]?.allowed === false && charges[i]?.advisory !== true) return false;
  }
  return true;
}

/** Of several decisions the denying one with the longest wait, else the one with the least share left; the first of equals. */
export function tightestOf(decisions: readonly PolicyDecision[]): PolicyDecision | undefined {
  let tightest = decisions[0];
  for (const decision of decisions) {
    if (isTighter(decision, tightest as PolicyDecision)) tightest = decision;
  }
  return tightest;
}

function isTighter(a: PolicyDecision, b: PolicyDecision): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  if (!a.allowed) return a.retryAfterMs > b.retryAfterMs;
  // a.remaining / a.limit < b.remaining / b.limit; a limit of 0 has no share left.
  return a.remaining * b.limit < b.remaining * a.limit;
}

function isOneStore(stores: Ledger['stores']): stores is Store {
  return 'take' in stores;
}

function checkCost(cost: unknown): asserts cost is number {
  if (!Number.isSafeInteger(cost) || (cost as number) < 0) {
    throw invalid('FLOODGATE_INVALID_CHARGE', 'cost', 'a whole number, 0 or more', cost);
  }
}
