import { type ChargeRequest, type Clock, FloodgateError, type Quota } from '@floodgate/core';
import { type Awaitable, isPromise, type Steps, systemClock, wait } from '@floodgate/core/internal';
import { readBoolean, readMode, readUnits } from './answers.ts';
import type { FoundPlan, Plans } from './plans.ts';
import { type HttpPolicy, isOfRequest, type QuotaOfRequest } from './policies.ts';
import type { RequestRecord } from './request-record.ts';
import type { RequestView } from './request-view.ts';
import type { Warnings } from './warnings.ts';

/** What policies charge one request. */
export class RequestCharges<Request> {
  readonly charges: ChargeRequest[] = [];
  /** The policy of each charge. */
  readonly policies: HttpPolicy<Request>[] = [];
  /** The quota of each charge, which names it itself only if it is not always its policy's. */
  readonly quotas: Quota[] = [];
  /** The client's plan, where a policy is of one. */
  plan: FoundPlan<Request> | undefined;
  readonly #view: RequestView<Request>;
  readonly #record: RequestRecord<Request>;
  readonly #warnings: Warnings<Request>;
  /** What options have answered for this request, where there are several policies that may share them. */
  #asked: Map<unknown, unknown> | undefined;

  constructor(
    view: RequestView<Request>,
    record: RequestRecord<Request>,
    warnings: Warnings<Request>,
  ) {
    this.#view = view;
    this.#record = record;
    this.#warnings = warnings;
  }

  /**
   * Adds what those of the policies charge that apply to the request, but for what it was charged before; those in
   * shadow mode, advisorily. What several of them ask alike is asked once.
   *
   * @throws FloodgateError `FLOODGATE_NO_KEY`; `FLOODGATE_UNKNOWN_PLAN`; `FLOODGATE_INVALID_OPTION` that names the
   *   option whose function gave a wrong answer; whatever such a function throws
   */
  *add(policies: readonly HttpPolicy<Request>[]): Steps<void> {
    if (policies.length > 1) this.#asked = new Map();
    for (const policy of policies) {
      const mode =
        typeof policy.mode === 'string' ? policy.mode : readMode(yield* this.#ask(policy.mode));
      const advisory = mode === 'shadow';
      if (mode === 'off' || this.#record.isMet(policy, advisory)) continue;
      try {
        yield* this.#addOne(policy, advisory);
      } catch (error) {
        if (!advisory) throw error;
        this.#warnings.shadowFailed(`Policy \`${policy.name}\``, error, this.#view.request);
      }
    }
  }

  *#addOne(policy: HttpPolicy<Request>, advisory: boolean): Steps<void> {
    const { when } = policy;
    if (when !== undefined && !readBoolean(yield* this.#ask(when), 'when')) return;
    const key = yield* this.#keyOf(policy);
    const quota = isOfRequest(policy.quota)
      ? yield* this.#quotaOf(policy.quota, key, advisory, policy.store?.clock)
      : policy.quota;
    // The client's plan has no such limit.
    if (quota === undefined) return;
    const cost =
      typeof policy.cost === 'number'
        ? policy.cost
        : readUnits(yield* this.#ask(policy.cost), 'cost');

    // A name on a store counts a request once: of several costs the largest, in the place of those that it was charged.
    const charged = this.#record.costOf(policy, key, advisory);
    if (charged !== undefined && (advisory || cost <= charged)) return;
    const { name } = policy;
    this.charges.push(
      policy.quota === quota
        ? { policy: name, key, cost, advisory }
        : { policy: name, key, cost, advisory, quota },
    );
    this.policies.push(policy);
    this.quotas.push(quota);
  }

  *#quotaOf(
    quota: QuotaOfRequest<Request>,
    key: string,
    advisory: boolean,
    clock: Clock = systemClock,
  ): Steps<Quota | undefined> {
    if (typeof quota === 'function') return yield* this.#ask(quota);
    const { plans } = quota;
    const name = yield* this.#planOf(plans, key, clock.now());
    const isTold = !advisory || this.plan?.isTold === true;
    this.plan = { name, upgradeUrl: plans.upgradeUrl, isTold };
    return quota.quotas.get(name);
  }

  *#planOf(plans: Plans<Request>, key: string, nowMs: number): Steps<string> {
    const known = this.#asked?.get(plans);
    if (known !== undefined) return known as string;
    const plan = yield* plans.find(key, this.#view.request, nowMs, this.#warnings);
    this.#asked?.set(plans, plan);
    return plan;
  }

  *#keyOf({ name, resolvers }: HttpPolicy<Request>): Steps<string> {
    const known = this.#asked?.get(resolvers);
    if (known !== undefined) return known as string;
    const warnings = this.#warnings;
    for (const resolver of resolvers) {
      let key: unknown = resolver.find(this.#view);
      if (isPromise(key)) key = yield key;
      if (resolver.readsAddress) warnings.checkAddress(this.#view);
      if (key !== undefined) {
        if (resolver.readsUser) warnings.userFound();
        this.#asked?.set(resolvers, key);
        return key as string;
      }
      if (resolver.readsUser) warnings.checkUserLater(resolver, this.#view);
    }
    throw new FloodgateError(
      'FLOODGATE_NO_KEY',
      `Expected a key for policy \`${name}\`, but its resolvers found none in this request: add a further one to ` +
        '`key`, such as `byIp()`, or say by `when` which requests the policy is for',
    );
  }

  *#ask<T>(option: (request: Request) => Awaitable<T>): Steps<T> {
    const asked = this.#asked;
    if (asked?.has(option) === true) return asked.get(option) as T;
    const answer = yield* wait(option(this.#view.request));
    asked?.set(option, answer);
    return answer;
  }
}
