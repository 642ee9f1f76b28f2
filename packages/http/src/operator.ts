import {
  type ChargeRequest,
  FloodgateError,
  type Quota,
  type RateLimiter,
  type Store,
  type Subject,
  type Verdict,
} from '@floodgate/core';
import { checkOptions, invalid, isPromise } from '@floodgate/core/internal';
import { kindOf } from './keys.ts';
import type { PeekOptions } from './limiter-handle.ts';
import { QuotaByPlan } from './plans.ts';
import { type HttpPolicy, isOfRequest, toCorePolicies } from './policies.ts';

/** The policies of a limiter, or of one that extends it, and the core limiter that meets them. */
export interface Limits<Request> {
  readonly policies: readonly HttpPolicy<Request>[];
  readonly limiter: RateLimiter<Store>;
}

/** What an operator does with the keys of a limiter, and of all that extend it. */
export class Operator<Request> {
  readonly #own: Limits<Request>;
  /** Of those that extend the limiter, the policies that it has not. */
  readonly #extensions: Limits<Request>[] = [];
  /** All of it, put together when somebody asks. */
  #everything: Limits<Request> | undefined;

  constructor(own: Limits<Request>) {
    this.#own = own;
  }

  /** Has the keys of an extension found as well. */
  add(extension: Limits<Request>): void {
    this.#extensions.push(extension);
    this.#everything = undefined;
  }

  peek(
    key: string | readonly ChargeRequest[],
    options: PeekOptions = {},
  ): Verdict | Promise<Verdict> {
    checkOptions(CODE, 'peek options', options, ['cost', 'plan']);
    const { policies, limiter } = this.#all;
    const { cost, plan } = options;
    if (Array.isArray(key)) return limiter.peek(key, cost === undefined ? undefined : { cost });
    checkKey(key);
    const found = withKind(policies, key);
    if (found.length === 0) throw unknownKind(policies, key);
    const charges = found.flatMap((policy): ChargeRequest[] => {
      const quota = quotaToPeekWith(policy, plan);
      if (quota === undefined) return [];
      // As a request would meet them: who only watches denies nobody.
      const advisory = policy.mode === 'shadow' || policy.mode === 'off';
      const units = cost ?? (typeof policy.cost === 'number' ? policy.cost : 1);
      return [{ policy: policy.name, key, quota, advisory, cost: units }];
    });
    if (charges.length > 0) return limiter.peek(charges);
    throw invalid(CODE, 'plan', 'a plan that has limits', plan);
  }

  get #all(): Limits<Request> {
    if (this.#everything !== undefined) return this.#everything;
    const names = new Set(this.#own.policies.map(({ name }) => name));
    const added = this.#extensions
      .flatMap(({ policies }) => policies)
      .filter(({ name }) => !names.has(name) && names.add(name));
    this.#everything = {
      policies: [...this.#own.policies, ...added],
      limiter: this.#own.limiter.extend(toCorePolicies(added)),
    };
    return this.#everything;
  }

  /** Does something for the subjects of a key: those of the limiter's policies, and of all that extend it. */
  forSubjects(
    key: string,
    act: (limiter: RateLimiter<Store>, subjects: readonly Subject[]) => void | Promise<void>,
  ): void | Promise<void> {
    checkKey(key);
    const pending: Promise<void>[] = [];
    let isKnown = false;
    for (const { policies, limiter } of [this.#own, ...this.#extensions]) {
      const subjects = withKind(policies, key).map(({ name }) => ({ policy: name, key }));
      if (subjects.length === 0) continue;
      isKnown = true;
      const done = act(limiter, subjects);
      if (isPromise(done)) pending.push(done);
    }
    if (!isKnown) throw unknownKind(this.#all.policies, key);
    if (pending.length > 0) return Promise.all(pending).then(() => undefined);
  }
}

const CODE = 'FLOODGATE_INVALID_OPTION';

function checkKey(key: unknown): asserts key is string {
  if (typeof key === 'string') return;
  throw invalid(CODE, 'key', 'a text, such as `keys` makes', key);
}

/** The quota of a policy; undefined where a plan has none. */
function quotaToPeekWith<Request>(
  { name, quota }: HttpPolicy<Request>,
  plan: string | undefined,
): Quota | undefined {
  if (!isOfRequest(quota)) return quota;
  if (quota instanceof QuotaByPlan) {
    const { names } = quota.plans;
    if (plan !== undefined && names.includes(plan)) return quota.quotas.get(plan);
    const expectation = `one of the plans to peek by (${names.join(', ')})`;
    throw invalid(CODE, 'plan', expectation, plan);
  }
  throw new FloodgateError(
    'FLOODGATE_INVALID_CHARGE',
    `Expected a quota to peek with: that of policy \`${name}\` depends on the request. ` +
      'Name it: `peek([{ policy, key, quota }])`',
  );
}

function withKind<Request>(
  policies: readonly HttpPolicy<Request>[],
  key: string,
): readonly HttpPolicy<Request>[] {
  const kind = kindOf(key);
  return policies.filter(({ resolvers }) => resolvers.some(({ kinds }) => kinds.includes(kind)));
}

function unknownKind<Request>(
  policies: readonly HttpPolicy<Request>[],
  key: string,
): FloodgateError {
  const kinds = policies.flatMap(({ resolvers }) =>
    resolvers.flatMap((resolver) => resolver.kinds),
  );
  const known = [...new Set(kinds)].join(', ');
  const expectation = `a key of a kind that this limiter finds (${known}), such as \`keys\` makes`;
  return invalid('FLOODGATE_INVALID_OPTION', 'key', expectation, key);
}
