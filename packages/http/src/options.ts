import type {
  Duration,
  FloodgateEvent,
  QuotaInput,
  Store,
  StoreErrorRule,
  Verdict,
} from '@floodgate/core';
import type { Awaitable } from '@floodgate/core/internal';
import type { KeyOption } from './resolvers.ts';

/**
 * - `'enforce'`: a request over its limit is denied.
 * - `'shadow'`: decide and report, and change nothing that the client sees.
 * - `'off'`: the policy is not asked.
 */
export type Mode = 'enforce' | 'shadow' | 'off';

/** What can be said for all policies at once, and for each of `policies` on its own. */
export interface SharedOptions<Request> {
  /** Whose quota a request uses: one resolver or several, the first that finds something wins. @default byIp() */
  readonly key?: KeyOption<Request>;
  /** Units that a request uses: a whole number, 0 or more. @default 1 */
  readonly cost?: number | ((request: Request) => Awaitable<number>);
  /** @default 'enforce' */
  readonly mode?: Mode | ((request: Request) => Awaitable<Mode>);
  /** Where counts live. @default a MemoryStore of the limiter's own */
  readonly store?: Store;
  /**
   * What answers when the store cannot: `'local'`, a memory store with the limits divided by `instances`; `'allow'`;
   * `'deny'`, with status 503.
   *
   * @default 'local'
   */
  readonly onStoreError?: StoreErrorRule;
}

/** One of several layers of limits. */
export interface PolicyOptions<Request = unknown> extends SharedOptions<Request> {
  /** Its name in headers, bodies, hooks and stores; no two differ in nothing but case. */
  readonly name: string;
  readonly quota: QuotaInput | ((request: Request) => Awaitable<QuotaInput>);
  /** Whether the policy applies to a request. @default to all */
  readonly when?: (request: Request) => Awaitable<boolean>;
}

interface CommonOptions<Request, Handler> extends SharedOptions<Request> {
  /** Requests that are not limited, not counted and get no headers. `fromAddresses` makes one. */
  readonly skip?: (request: Request) => Awaitable<boolean>;
  /** `X-RateLimit-Limit`, `-Remaining` and `-Reset` on every response that was counted. @default 'legacy' */
  readonly headers?: 'legacy' | false;
  /** What the body of a denial says. @default such as 'Rate limit exceeded. Try again in 30 seconds.' */
  readonly message?: (verdict: Verdict, request: Request) => Awaitable<string>;
  /** The status of a denial. @default 429 */
  readonly statusCode?: number;
  /** A function of the framework's own that answers a denied request, whose status and headers are set, instead. */
  readonly handler?: Handler;
  /** How many processes share the limits, for the rule `'local'`. @default 1 */
  readonly instances?: number;
  /** Whether CORS preflights count. @default false */
  readonly countPreflight?: boolean;
  /** Called once for each request that was decided. */
  readonly onVerdict?: (verdict: Verdict, request: Request) => void;
  /** Called for what an operator should know; the request is given where one was the cause. @default process.emitWarning */
  readonly onEvent?: (event: FloodgateEvent, request?: Request) => void;
}

/** One policy: `limit` units in a `window`, by a sliding window counter. */
export interface ShorthandOptions<Request> {
  readonly limit: number | ((request: Request) => Awaitable<number>);
  readonly window: Duration;
  /** The policy's name. @default 'default' */
  readonly name?: string;
  readonly quota?: never;
  readonly policies?: never;
}

/** One policy with a quota of any algorithm. */
interface QuotaOptions<Request> {
  readonly quota: QuotaInput | ((request: Request) => Awaitable<QuotaInput>);
  /** The policy's name. @default 'default' */
  readonly name?: string;
  readonly limit?: never;
  readonly window?: never;
  readonly policies?: never;
}

/** Several policies, met in one step: a request that one of them denies is charged by none. */
interface PoliciesOptions<Request> {
  readonly policies: readonly PolicyOptions<Request>[];
  readonly name?: never;
  readonly limit?: never;
  readonly window?: never;
  readonly quota?: never;
}

/** A function of whatever a framework gives it. */
export type AnyFunction = (...parameters: never[]) => unknown;

/** Exactly one of `limit` with `window`, `quota`, `policies`; everything else may be left out. */
export type HttpLimiterOptions<
  Request = unknown,
  Handler extends AnyFunction = AnyFunction,
> = CommonOptions<Request, Handler> &
  (ShorthandOptions<Request> | QuotaOptions<Request> | PoliciesOptions<Request>);
