import type { Decision } from './decision.ts';
import { FloodgateError, invalid } from './errors.ts';
import { isPromise } from './maybe-promise.ts';
import type { Charge, Refund, Store } from './store.ts';

/** What to do when a store fails: let a memory store take over, let everything pass, or deny everything. */
export type StoreErrorRule = 'local' | 'allow' | 'deny';

/** Why a verdict is not its store's own. */
export interface Degraded {
  /** The strictest rule that decided in a store's place. */
  readonly rule: StoreErrorRule;
  /** The rule that stood in for each decision; `undefined` for one that its store made. */
  readonly rules: readonly (StoreErrorRule | undefined)[];
  /** `FLOODGATE_STORE_FAILED`; its `cause` is what the store threw. */
  readonly error: FloodgateError;
}

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

/** Where the charges of a verdict were taken, for settling them there. */
export interface Ledger {
  /** The store of each charge, or of all; `undefined` where none could be asked. */
  readonly stores: Store | readonly (Store | undefined)[];
  readonly onSettleFailed: (error: unknown) => void;
}

/** What all policies together answer to one request. */
export class Verdict {
  /** Whether the request may pass: no policy but advisory ones denied it. */
  readonly allowed: boolean;
  /** Set where a store failed and `onStoreError` decided in its place. */
  readonly degraded: Degraded | undefined;
  readonly #charges: readonly Charge[];
  readonly #answers: readonly Decision[];
  readonly #ledger: Ledger | undefined;
  #decisions: readonly PolicyDecision[] | undefined;
  /** The charges that are settled, by index. */
  #settled: Set<number> | undefined;

  /** Verdicts are made by a `RateLimiter`. Without a ledger nothing was charged, and there is nothing to settle. */
  constructor(
    charges: readonly Charge[],
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
   * into debt. One number holds for every policy, an object for those that it names. The first time counts for each
   * policy, later ones change nothing; nor does settling what was denied. A store that fails is reported as
   * `settle-failed`, and the cost that was taken stands.
   *
   * @throws FloodgateError `FLOODGATE_INVALID_CHARGE` for what is no whole number, `FLOODGATE_UNKNOWN_POLICY`
   */
  settle(cost: number | Readonly<Record<string, number>>): void | Promise<void> {
    const costs = this.#costsToSettle(cost);
    if (!this.allowed || this.#ledger === undefined) return;
    const { stores, onSettleFailed } = this.#ledger;
    const pending: Promise<void>[] = [];
    for (const [index, trueCost] of costs) {
      const charge = this.#charges[index] as Charge;
      const { allowed, atMs } = this.#answers[index] as Decision;
      const store = isOneStore(stores) ? stores : stores[index];
      this.#settled ??= new Set();
      if (this.#settled.has(index)) continue;
      this.#settled.add(index);
      if (!allowed || store === undefined || trueCost === charge.cost) continue;
      const work = settleOne(store, { ...charge, atMs }, trueCost, onSettleFailed);
      if (work !== undefined) pending.push(work);
    }
    if (pending.length > 0) return Promise.all(pending).then(() => undefined);
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
      if (indexes.length === 0) {
        const known = charges.map((charge) => `\`${charge.policy}\``).join(', ');
        throw new FloodgateError(
          'FLOODGATE_UNKNOWN_POLICY',
          `Expected a policy of this verdict (${known}) to settle, got \`${policy}\``,
        );
      }
      return indexes.map((index): [number, number] => [index, trueCost]);
    });
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

/** Whether a group is admitted: no charge of it was denied but advisory ones. */
export function isAdmitted(charges: readonly Charge[], decisions: readonly Decision[]): boolean {
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

function settleOne(
  store: Store,
  taken: Refund,
  trueCost: number,
  onFailed: (error: unknown) => void,
): Promise<void> | undefined {
  const difference = trueCost - taken.cost;
  try {
    const work =
      difference < 0
        ? store.refund([{ ...taken, cost: -difference }])
        : store.take([{ ...taken, cost: difference }], { mode: 'force' });
    return isPromise<unknown>(work)
      ? Promise.resolve(work).then(() => undefined, onFailed)
      : undefined;
  } catch (error) {
    onFailed(error);
    return undefined;
  }
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
