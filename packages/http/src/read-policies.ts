import {
  formatQuota,
  type Quota,
  type QuotaInput,
  type Store,
  slidingWindowCounter,
  toQuota,
} from '@floodgate/core';
import { andThen, checkOptions, invalid, toMilliseconds } from '@floodgate/core/internal';
import { checkBoolean, checkFunction, checkStatus } from './checks.ts';
import type {
  HttpLimiterOptions,
  Mode,
  PlansOptions,
  PolicyOptions,
  SharedOptions,
  ShorthandOptions,
} from './options.ts';
import { Plans, QuotaByPlan, readPlans } from './plans.ts';
import type { HttpPolicy } from './policies.ts';
import { byIp, toResolvers } from './resolvers.ts';
import { onlyFailures, onlySuccesses } from './settle.ts';

/** What a policy may have of its own, or share with others. */
export type Parts<Request> = Pick<
  HttpPolicy<Request>,
  'resolvers' | 'cost' | 'settle' | 'mode' | 'store' | 'onStoreError'
>;

export const DEFAULT_PARTS: Parts<unknown> = {
  resolvers: [byIp()],
  cost: 1,
  settle: undefined,
  mode: 'enforce',
  store: undefined,
  onStoreError: 'local',
};

/** The names of the options that {@link readParts} reads. */
export const PARTS = ['key', 'cost', 'settle', 'mode', 'store', 'onStoreError'] as const;

/** Reads what a policy may say, or share with others; `prefix` is where it stands in the options. */
export function readParts<Request>(
  options: SharedOptions<Request>,
  prefix: string,
  shared: Parts<Request>,
): Parts<Request> {
  const { key, cost = shared.cost, mode = shared.mode } = options;
  if (typeof cost !== 'function' && !(Number.isSafeInteger(cost) && cost >= 0)) {
    throw invalid(CODE, `${prefix}cost`, 'a whole number, 0 or more, or a function', cost);
  }
  checkFunction(options.settle, `${prefix}settle`);
  if ([onlyFailures, onlySuccesses].includes(options.settle as never)) {
    throw invalid(CODE, `${prefix}settle`, 'what `onlyFailures()` answers, called', options.settle);
  }
  if (typeof mode !== 'function' && !MODES.includes(mode)) {
    throw invalid(CODE, `${prefix}mode`, "'enforce', 'shadow', 'off' or a function", mode);
  }
  return {
    resolvers: key === undefined ? shared.resolvers : toResolvers(key, `${prefix}key`),
    cost,
    settle: options.settle ?? shared.settle,
    mode,
    store: readStore(options.store, `${prefix}store`) ?? shared.store,
    // The core limiter checks this one.
    onStoreError: options.onStoreError ?? shared.onStoreError,
  };
}

function readStore(store: Store | undefined, option: string): Store | undefined {
  if (store === undefined || typeof store?.take === 'function') return store;
  throw invalid(CODE, option, 'a store', store);
}

/** The policies that options with a limit describe, checked. `defaultName` is that of the one that has none. */
export function readPolicies<Request>(
  options: HttpLimiterOptions<Request>,
  shared: Parts<Request>,
  defaultName: string,
): readonly HttpPolicy<Request>[] {
  if (options.plans !== undefined) {
    const beside = options.policies === undefined ? [] : readList(options.policies, shared);
    return [...readPlanPolicies(options, shared), ...beside];
  }
  if (options.policies !== undefined) return readList(options.policies, shared);
  const { name } = options;
  return [
    {
      ...shared,
      ...PLAIN,
      name: name === undefined ? defaultName : readName(name, 'name'),
      isNameDefaulted: name === undefined,
      ...(options.quota === undefined ? readLimit(options) : readQuota(options.quota, 'quota')),
    },
  ];
}

/** Throws where a name is taken: headers, bodies and stores tell policies apart by it, some without regard to case. */
export function takeName(names: Set<string>, name: string, option: string): void {
  if (names.has(name.toLowerCase())) {
    throw invalid(CODE, option, 'different from all others, in more than case', name);
  }
  names.add(name.toLowerCase());
}

const CODE = 'FLOODGATE_INVALID_OPTION';
const MODES: readonly Mode[] = ['enforce', 'shadow', 'off'];
const POLICY = ['name', 'quota', 'when', 'hidden', 'statusCode', ...PARTS] as const;

/** What only one of `policies` may say. */
const PLAIN = { isNameDefaulted: false, when: undefined, hidden: false, statusCode: undefined };

function readList<Request>(
  policies: readonly PolicyOptions<Request>[],
  shared: Parts<Request>,
): HttpPolicy<Request>[] {
  if (!Array.isArray(policies) || policies.length === 0) {
    throw invalid(CODE, 'policies', 'a list of one or more policies', policies);
  }
  const names = new Set<string>();
  return policies.map((options: PolicyOptions<Request>, i) => {
    const at = `policies[${i}]`;
    checkOptions(CODE, at, options, POLICY);
    checkFunction(options.when, `${at}.when`);
    checkBoolean(options.hidden, `${at}.hidden`);
    checkStatus(options.statusCode, `${at}.statusCode`);
    const name = readName(options.name, `${at}.name`);
    takeName(names, name, `${at}.name`);
    return {
      ...readParts(options, `${at}.`, shared),
      ...readQuota(options.quota, `${at}.quota`),
      name,
      isNameDefaulted: false,
      when: options.when,
      hidden: options.hidden ?? false,
      statusCode: options.statusCode,
    };
  });
}

function readPlanPolicies<Request>(
  options: PlansOptions<Request>,
  shared: Parts<Request>,
): HttpPolicy<Request>[] {
  const byName = readPlans(options.plans, toQuota);
  const plans = new Plans(options);
  const names = new Set<string>();
  return [...byName].map(([name, quotas]) => {
    takeName(names, name, 'plans');
    const stated = [...quotas].flatMap(([plan, quota]) => [plan, formatQuota(quota)]);
    return { ...shared, ...PLAIN, name, quota: new QuotaByPlan(plans, quotas), quotaFrom: stated };
  });
}

type ReadQuota<Request> = Pick<HttpPolicy<Request>, 'quota' | 'quotaFrom'>;

function readQuota<Request>(
  quota: PolicyOptions<Request>['quota'],
  option: string,
): ReadQuota<Request> {
  if (typeof quota !== 'function') return stated(toQuota(quota, option));
  const quotaOf = (answer: QuotaInput): Quota => toQuota(answer, option);
  return { quota: (request) => andThen(quota(request), quotaOf), quotaFrom: [quota] };
}

function readLimit<Request>({ limit, window }: ShorthandOptions<Request>): ReadQuota<Request> {
  if (typeof limit !== 'function') return stated(slidingWindowCounter({ limit, window }));
  const windowMs = toMilliseconds(window, 'window', 'FLOODGATE_INVALID_QUOTA');
  // Each request has a quota of its own, so that none sees the limit of another; equal limits are one quota.
  const made = new Map<number, Quota>();
  const quotaOf = (answer: number): Quota => {
    const known = made.get(answer);
    if (known !== undefined) return known;
    const quota = slidingWindowCounter({ limit: answer, window: windowMs });
    if (made.size >= MOST_QUOTAS_KEPT) made.clear();
    made.set(answer, quota);
    return quota;
  };
  return {
    quota: (request) => andThen(limit(request), quotaOf),
    quotaFrom: [limit, windowMs],
  };
}

/** There are as many limits as a server has kinds of clients; more would be one made up for each request. */
const MOST_QUOTAS_KEPT = 1000;

function stated(quota: Quota): ReadQuota<unknown> & { readonly quota: Quota } {
  return { quota, quotaFrom: [formatQuota(quota)] };
}

function readName(name: unknown, option: string): string {
  if (typeof name === 'string' && name !== '') return name;
  throw invalid(CODE, option, 'a text that is not empty', name);
}
