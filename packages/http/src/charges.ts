import { type ChargeRequest, type Clock, FloodgateError, type Quota } from '@floodgate/core';
import { type Awaitable, isPromise, type Steps, systemClock, wait } from '@floodgate/core/internal';
import { readBoolean, readMode, readUnits } from './answers.ts';
import { type FoundPlan, type Plans, QuotaByPlan } from './plans.ts';
import type { HttpPolicy } from './policies.ts';
import type { RequestRecord } from './request-record.ts';
import type { RequestView } from './request-view.ts';
import type { Warnings } from './warnings.ts';

/** What one request is charged. */
export interface RequestCharges<Request> {
  readonly charges: ChargeRequest[];
  /** The policy of each charge. */
  readonly policies: HttpPolicy<Request>[];
  /** The quota of each charge, which names it itself only if it is not always its policy's. */
  readonly quotas: Quota[];
  /** The client's plan, where a policy that is more than advisory is of one. */
  plan: FoundPlan<Request> | undefined;
}

/**
 * What the policies that apply to a request charge it, but for what it was charged before; those in shadow mode,
 * advisorily. What several of them ask alike is asked once.
 *
 * @throws FloodgateError `FLOODGATE_NO_KEY`; `FLOODGATE_UNKNOWN_PLAN`; `FLOODGATE_INVALID_OPTION` that names the option
 *   whose function gave a wrong answer; whatever such a function throws
 */
export function* chargesOf<Request>(
  view: RequestView<Request>,
  policies: readonly HttpPolicy<Request>[],
  record: RequestRecord<Request>,
  warnings: Warnings<Request>,
): Steps<RequestCharges<Request>> {
  const all: RequestCharges<Request> = { charges: [], policies: [], quotas: [], plan: undefined };
  const asked: Asked = policies.length > 1 ? new Map() : undefined;
  for (const policy of policies) {
    const mode =
      typeof policy.mode === 'string'
        ? policy.mode
        : readMode(yield* askOnce(policy.mode, view.request, asked));
    if (mode === 'off' || record.isMet(policy, mode === 'shadow')) continue;
    try {
      yield* addCharge(all, policy, mode === 'shadow', view, record, asked, warnings);
    } catch (error) {
      if (mode !== 'shadow') throw error;
      warnings.shadowFailed(`Policy \`${policy.name}\``, error, view.request);
    }
  }
  return all;
}

/** What options have answered for this request, where there are several policies that may share them. */
type Asked = Map<unknown, unknown> | undefined;

function* addCharge<Request>(
  all: RequestCharges<Request>,
  policy: HttpPolicy<Request>,
  advisory: boolean,
  view: RequestView<Request>,
  record: RequestRecord<Request>,
  asked: Asked,
  warnings: Warnings<Request>,
): Steps<void> {
  const { name, when, quota: stated } = policy;
  const { request } = view;
  if (when !== undefined && !readBoolean(yield* askOnce(when, request, asked), 'when')) return;
  const key = yield* keyOf(policy, view, asked, warnings);
  let quota: Quota | undefined;
  if (stated instanceof QuotaByPlan) {
    const plan = yield* planOf(
      stated.plans,
      key,
      view,
      policy.store?.clock ?? systemClock,
      asked,
      warnings,
    );
    quota = stated.quotas.get(plan);
    if (!advisory) all.plan = { name: plan, upgradeUrl: stated.plans.upgradeUrl };
    // The plan has no such limit.
    if (quota === undefined) return;
  } else {
    quota = typeof stated === 'function' ? yield* askOnce(stated, request, asked) : stated;
  }
  let cost =
    typeof policy.cost === 'number'
      ? policy.cost
      : readUnits(yield* askOnce(policy.cost, request, asked), 'cost');
  // A name on a store counts a request once: of several costs, the largest.
  const charged = record.costOf(policy, key, advisory);
  if (charged !== undefined) {
    if (cost <= charged) return;
    cost -= charged;
  }
  all.charges.push(
    stated === quota
      ? { policy: name, key, cost, advisory }
      : { policy: name, key, cost, advisory, quota },
  );
  all.policies.push(policy);
  all.quotas.push(quota);
}

function* planOf<Request>(
  plans: Plans<Request>,
  key: string,
  { request }: RequestView<Request>,
  clock: Clock,
  asked: Asked,
  warnings: Warnings<Request>,
): Steps<string> {
  const known = asked?.get(plans);
  if (known !== undefined) return known as string;
  const plan = yield* plans.find(key, request, clock, warnings);
  asked?.set(plans, plan);
  return plan;
}

function* keyOf<Request>(
  { name, resolvers }: HttpPolicy<Request>,
  view: RequestView<Request>,
  asked: Asked,
  warnings: Warnings<Request>,
): Steps<string> {
  const known = asked?.get(resolvers);
  if (known !== undefined) return known as string;
  for (const resolver of resolvers) {
    let key: unknown = resolver.find(view);
    if (isPromise(key)) key = yield key;
    if (resolver.readsAddress) warnings.checkAddress(view);
    if (key !== undefined) {
      if (resolver.readsUser) warnings.userFound();
      asked?.set(resolvers, key);
      return key as string;
    }
    if (resolver.readsUser) warnings.checkUserLater(resolver, view);
  }
  throw new FloodgateError(
    'FLOODGATE_NO_KEY',
    `Expected a key for policy \`${name}\`, but its resolvers found none in this request: add a further one to ` +
      '`key`, such as `byIp()`, or say by `when` which requests the policy is for',
  );
}

function* askOnce<Request, T>(
  ask: (request: Request) => Awaitable<T>,
  request: Request,
  asked: Asked,
): Steps<T> {
  if (asked?.has(ask) === true) return asked.get(ask) as T;
  const answer = yield* wait(ask(request));
  asked?.set(ask, answer);
  return answer;
}
