import { FloodgateError, type Quota, slidingWindowCounter, tokenBucket } from '@floodgate/core';
import {
  type Awaitable,
  checkOptions,
  invalid,
  isPromise,
  type Steps,
} from '@floodgate/core/internal';
import { isOfOneClient } from './keys.ts';
import type { Plan, PlansOptions } from './options.ts';
import type { Warnings } from './warnings.ts';

/** The usual three numbers of a plan. */
export interface TierOptions {
  readonly requestsPerMinute: number;
  readonly requestsPerDay: number;
  /** The most requests at once. */
  readonly burstSize: number;
}

/**
 * The quotas of a plan in the usual three numbers: `perMinute` and `perDay`, sliding window counters, and `burst`, a
 * token bucket that holds `burstSize` and is refilled at the minute's rate.
 *
 * @example
 * const plans = { free: tier({ requestsPerMinute: 60, requestsPerDay: 1000, burstSize: 10 }) };
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` unless each is a whole number, 1 or more
 */
export function tier(options: TierOptions): {
  readonly perMinute: Quota;
  readonly perDay: Quota;
  readonly burst: Quota;
} {
  const names = ['requestsPerMinute', 'requestsPerDay', 'burstSize'] as const;
  checkOptions(CODE, 'tier options', options, names);
  for (const name of names) {
    if (!Number.isSafeInteger(options[name]) || options[name] < 1) {
      throw invalid(CODE, name, 'a whole number, 1 or more', options[name]);
    }
  }
  const { requestsPerMinute, requestsPerDay, burstSize } = options;
  return {
    perMinute: slidingWindowCounter({ limit: requestsPerMinute, window: '1m' }),
    perDay: slidingWindowCounter({ limit: requestsPerDay, window: '1d' }),
    burst: tokenBucket({ capacity: burstSize, refillRate: requestsPerMinute, per: '1m' }),
  };
}

/** One policy's quota in each of the plans that have it. */
export class QuotaByPlan<Request> {
  readonly plans: Plans<Request>;
  readonly quotas: ReadonlyMap<string, Quota>;

  constructor(plans: Plans<Request>, quotas: ReadonlyMap<string, Quota>) {
    this.plans = plans;
    this.quotas = quotas;
  }
}

/** A client's plan. */
export interface FoundPlan<Request> {
  readonly name: string;
  readonly upgradeUrl: PlansOptions<Request>['upgradeUrl'];
  /** Whether the client may know of it: not where all quotas of plans only watch. */
  readonly isTold: boolean;
}

/** The plans of a limiter, and whose is which. */
export class Plans<Request> {
  readonly names: readonly string[];
  readonly upgradeUrl: PlansOptions<Request>['upgradeUrl'];
  readonly #plan: (request: Request) => Awaitable<unknown>;
  readonly #defaultPlan: string | undefined;
  /** The look-ups that are under way, by key. */
  readonly #pending = new Map<string, LookUp>();

  constructor({ plans, plan, defaultPlan, upgradeUrl }: PlansOptions<Request>) {
    this.names = Object.keys(plans);
    this.upgradeUrl = upgradeUrl;
    this.#plan = plan;
    this.#defaultPlan = defaultPlan;
  }

  /**
   * The plan of a key, as its request says.
   *
   * @throws FloodgateError `FLOODGATE_UNKNOWN_PLAN` where there is no default for a request without one; whatever the
   *   look-up throws
   */
  *find(key: string, request: Request, nowMs: number, warnings: Warnings<Request>): Steps<string> {
    let answer: unknown;
    try {
      answer = this.#lookUp(key, request, nowMs);
      if (isPromise(answer)) answer = yield answer;
    } catch (error) {
      if (this.#defaultPlan === undefined) throw error;
      warnings.planFailed(error, request, nowMs);
      return this.#defaultPlan;
    }
    if (this.names.includes(answer as string)) return answer as string;
    const isMissing = answer === undefined || answer === null;
    if (this.#defaultPlan === undefined) {
      const got = isMissing ? 'found none' : `got ${describe(answer)}`;
      const known = this.names.map((name) => `\`${name}\``).join(', ');
      throw new FloodgateError(
        'FLOODGATE_UNKNOWN_PLAN',
        `Expected \`plan\` to find one of ${known} for a request, ${got}: give it a \`defaultPlan\``,
      );
    }
    if (!isMissing) warnings.unknownPlan(describe(answer), this.#defaultPlan, request);
    return this.#defaultPlan;
  }

  /** One that takes too long is not waited for by those who come later: it may never answer. */
  #lookUp(key: string, request: Request, nowMs: number): Awaitable<unknown> {
    const known = this.#pending.get(key);
    if (known !== undefined && isFresh(known, nowMs)) {
      return known.answer;
    }
    const found = this.#plan(request);
    if (!isPromise(found)) return found;
    // Once: a query that is no promise may be sent again each time that somebody waits for it.
    const answer = Promise.resolve(found);
    if (!isOfOneClient(key)) return answer;
    const lookUp = { answer, sinceMs: nowMs };
    this.#dropStale(nowMs);
    this.#pending.delete(key);
    this.#pending.set(key, lookUp);
    const done = (): void => {
      if (this.#pending.get(key) === lookUp) this.#pending.delete(key);
    };
    answer.then(done, done);
    return answer;
  }

  /** Forgets look-ups that nobody shares any more: there may be many that never answer. The oldest come first. */
  #dropStale(nowMs: number): void {
    for (const [key, lookUp] of this.#pending) {
      if (isFresh(lookUp, nowMs)) return;
      this.#pending.delete(key);
    }
  }
}

interface LookUp {
  readonly answer: PromiseLike<unknown>;
  readonly sinceMs: number;
}

const SHARED_FOR_MS = 1000;

function isFresh({ sinceMs }: LookUp, nowMs: number): boolean {
  return Math.abs(nowMs - sinceMs) < SHARED_FOR_MS;
}

const CODE = 'FLOODGATE_INVALID_OPTION';

function describe(answer: unknown): string {
  return typeof answer === 'string' ? `\`${answer.slice(0, 50)}\`` : typeof answer;
}

/**
 * The names of all policies that plans have, each with its quota in every plan that has it.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` unless the plans are what they should be; what `read` throws
 */
export function readPlans(
  plans: Readonly<Record<string, Plan>>,
  read: (quota: Plan[string], option: string) => Quota,
): Map<string, Map<string, Quota>> {
  if (!isRecord(plans) || Object.keys(plans).length === 0) {
    const expectation = 'an object of at least one plan, such as { free: { perMinute: quota } }';
    throw invalid(CODE, 'plans', expectation, plans);
  }
  const policies = new Map<string, Map<string, Quota>>();
  for (const [planName, plan] of Object.entries(plans)) {
    const at = `plans.${planName}`;
    if (planName === '') throw invalid(CODE, 'plans', 'plans with a name', planName);
    if (!isRecord(plan)) {
      throw invalid(
        CODE,
        at,
        'an object of quotas by their names, such as { perMinute: quota }',
        plan,
      );
    }
    for (const [name, quota] of Object.entries(plan)) {
      if (name === '') throw invalid(CODE, at, 'quotas with a name', name);
      const quotas = policies.get(name) ?? new Map<string, Quota>();
      quotas.set(planName, read(quota, `${at}.${name}`));
      policies.set(name, quotas);
    }
  }
  return policies;
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
