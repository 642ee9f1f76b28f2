import {
  type ChargeRequest,
  FloodgateError,
  type Policy,
  type Quota,
  RateLimiter,
  type Store,
  type StoreErrorRule,
  slidingWindowCounter,
} from '@floodgate/core';
import { type Awaitable, invalid, isPromise, type Steps, wait } from '@floodgate/core/internal';
import type { AnyFunction, CommonOptions, Mode } from './options.ts';
import type { RequestView } from './request-view.ts';
import type { KeyResolver } from './resolvers.ts';
import type { Warnings } from './warnings.ts';

/** One policy of an HTTP limiter: what its options say, checked. */
export interface HttpPolicy<Request> {
  readonly name: string;
  readonly quota: Quota | ((request: Request) => Awaitable<Quota>);
  readonly resolvers: readonly KeyResolver<Request>[];
  readonly cost: number | ((request: Request) => Awaitable<number>);
  readonly mode: Mode | ((request: Request) => Awaitable<Mode>);
  readonly when: ((request: Request) => Awaitable<boolean>) | undefined;
  readonly hidden: boolean;
  /** Undefined where it is the limiter's. */
  readonly statusCode: number | undefined;
  readonly store: Store | undefined;
  readonly onStoreError: StoreErrorRule;
}

/** What one request is charged. */
export interface RequestCharges {
  readonly charges: ChargeRequest[];
  /** The quota of each charge, which names it itself only if it is not always its policy's. */
  readonly quotas: Quota[];
}

/**
 * What the policies that apply to a request charge it; those in shadow mode, advisorily. What several of them ask
 * alike is asked once.
 *
 * @throws FloodgateError `FLOODGATE_NO_KEY`; `FLOODGATE_INVALID_OPTION` that names the option whose function gave a
 *   wrong answer; whatever such a function throws
 */
export function* chargesOf<Request>(
  view: RequestView<Request>,
  policies: readonly HttpPolicy<Request>[],
  warnings: Warnings<Request>,
): Steps<RequestCharges> {
  const all: RequestCharges = { charges: [], quotas: [] };
  const asked: Asked = policies.length > 1 ? new Map() : undefined;
  for (const policy of policies) {
    const mode =
      typeof policy.mode === 'string'
        ? policy.mode
        : readMode(yield* askOnce(policy.mode, view.request, asked));
    if (mode === 'off') continue;
    try {
      yield* addCharge(all, policy, mode === 'shadow', view, asked, warnings);
    } catch (error) {
      if (mode !== 'shadow') throw error;
      warnings.shadowFailed(`Policy \`${policy.name}\``, error, view.request);
    }
  }
  return all;
}

/** The core limiter of these policies. */
export function rateLimiterOf<Request>(
  { store, onStoreError, instances, onEvent }: CommonOptions<Request, AnyFunction>,
  policies: readonly HttpPolicy<Request>[],
): RateLimiter<Store> {
  return new RateLimiter<Store>({
    policies: policies.length > 0 ? toCorePolicies(policies) : [NOBODYS_POLICY],
    ...(store !== undefined && { store }),
    ...(onStoreError && { onStoreError }),
    ...(instances !== undefined && { instances }),
    ...(onEvent && { onEvent }),
  });
}

/** What the core limiter knows of policies. */
export function toCorePolicies<Request>(policies: readonly HttpPolicy<Request>[]): Policy<Store>[] {
  return policies.map(({ name, quota, store, onStoreError }) => ({
    name,
    quota: typeof quota === 'function' ? NO_QUOTA : quota,
    onStoreError,
    ...(store !== undefined && { store }),
  }));
}

/** What an option's function says to the client. */
export function readText(answer: unknown, option: string): string {
  if (typeof answer === 'string') return answer;
  throw invalid(CODE, option, 'a function that answers a text', answer);
}

/** Whether an option's function said yes. Only true and false will do: a forgotten `return` must not lift a limit. */
export function readBoolean(answer: unknown, option: string): boolean {
  if (typeof answer === 'boolean') return answer;
  throw invalid(CODE, option, 'a function that answers true or false', answer);
}

const CODE = 'FLOODGATE_INVALID_OPTION';

/** What the core limiter knows of a policy whose quota comes with each request. It is never asked for it. */
const NO_QUOTA = slidingWindowCounter({ limit: 0, window: 1 });

/** A limiter to which policies are only added has none that a request meets, and the core wants one. */
const NOBODYS_POLICY: Policy<Store> = { name: '(none)', quota: NO_QUOTA };

/** What options have answered for this request, where there are several policies that may share them. */
type Asked = Map<unknown, unknown> | undefined;

function* addCharge<Request>(
  { charges, quotas }: RequestCharges,
  policy: HttpPolicy<Request>,
  advisory: boolean,
  view: RequestView<Request>,
  asked: Asked,
  warnings: Warnings<Request>,
): Steps<void> {
  const { name, when } = policy;
  const { request } = view;
  if (when !== undefined && !readBoolean(yield* askOnce(when, request, asked), 'when')) return;
  const key = yield* keyOf(policy, view, asked, warnings);
  const cost =
    typeof policy.cost === 'number'
      ? policy.cost
      : readCost(yield* askOnce(policy.cost, request, asked));
  if (typeof policy.quota !== 'function') {
    charges.push({ policy: name, key, cost, advisory });
    quotas.push(policy.quota);
  } else {
    const quota = yield* askOnce(policy.quota, request, asked);
    charges.push({ policy: name, key, cost, advisory, quota });
    quotas.push(quota);
  }
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

function readMode(answer: unknown): Mode {
  if (answer === 'enforce' || answer === 'shadow' || answer === 'off') return answer;
  throw invalid(CODE, 'mode', "a function that answers 'enforce', 'shadow' or 'off'", answer);
}

function readCost(answer: unknown): number {
  if (Number.isSafeInteger(answer) && (answer as number) >= 0) return answer as number;
  throw invalid(CODE, 'cost', 'a function that answers a whole number, 0 or more', answer);
}
