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

/**
 * How the limits are told in headers. `'legacy'`: `X-RateLimit-Limit`, `-Remaining`, `-Reset` (seconds since 1970).
 * The others are those of an Internet-Draft, draft-ietf-httpapi-ratelimit-headers, and count in seconds from now:
 * `'draft-6'`: `RateLimit-Limit`, `-Remaining`, `-Reset`, `-Policy`; `'draft-7'`: one `RateLimit` and
 * `RateLimit-Policy`; `'draft-8'`: both as lists with a member for each policy, the syntax of drafts 8 to 11.
 */
export type HeaderFamily = 'legacy' | 'draft-6' | 'draft-7' | 'draft-8';

/** How a response ended. */
export interface ResponseEnd {
  /** What the client was answered; 499 where it went away before anything was. */
  readonly status: number;
  /** Whether all of the response was sent; false where it failed or was cut off. */
  readonly completed: boolean;
}

/**
 * The true cost of a request, in whole units, known when its response has ended, failed or been cut off; `reserved` is
 * what was taken before the handler ran.
 */
export type SettleFunction<Request> = (
  end: ResponseEnd,
  request: Request,
  reserved: number,
) => Awaitable<number>;

/** What can be said for all policies at once, and for each of `policies` on its own. */
export interface SharedOptions<Request> {
  /** Whose quota a request uses: one resolver or several, the first that finds something wins. @default byIp() */
  readonly key?: KeyOption<Request>;
  /** Units that a request uses: a whole number, 0 or more. @default 1 */
  readonly cost?: number | ((request: Request) => Awaitable<number>);
  /**
   * The true cost, which replaces the `cost` that was reserved: called once, when the response has ended, unless
   * `settle` of the verdict came first. Where it throws, what was reserved stands, and `onEvent` is told. A quota with
   * `blockFor` blocks once settled costs alone fill it. `onlyFailures` and `onlySuccesses` make one.
   *
   * @default what was reserved
   */
  readonly settle?: SettleFunction<Request>;
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
  /** Whether it is the server's own affair, such as a ceiling over all: told in no header and no body. @default false */
  readonly hidden?: boolean;
  /** The status of its denials. @default the limiter's `statusCode` */
  readonly statusCode?: number;
}

/** A function of what was decided about a request; `plan` names the client's, where the limiter has plans. */
export type VerdictFunction<Request, Answer> = (
  verdict: Verdict,
  request: Request,
  plan?: string,
) => Answer;

/** What can be said beside the limits. */
export interface CommonOptions<Request = unknown, Handler extends AnyFunction = AnyFunction>
  extends SharedOptions<Request> {
  /** Requests that are not limited, not counted and get no headers. `fromAddresses` makes one. */
  readonly skip?: (request: Request) => Awaitable<boolean>;
  /** What every response that was counted tells of its limits. Not `'draft-8'` beside 6 or 7: they share names. @default 'legacy' */
  readonly headers?: HeaderFamily | readonly HeaderFamily[] | false;
  /** The policy that headers with room for one show while the request is admitted. @default the tightest */
  readonly legacyPolicy?: string;
  /** Whether `Access-Control-Expose-Headers` is extended, so that scripts of other origins may read the headers. @default false */
  readonly exposeHeaders?: boolean;
  /**
   * What a denial's body is: `'json'`; `'problem'`, RFC 9457 with the type `quota-exceeded`; or what a function answers:
   * a text, bytes, or a value to be sent as JSON; undefined for none.
   *
   * @default 'json'
   */
  readonly body?: 'json' | 'problem' | VerdictFunction<Request, unknown>;
  /** What the body of a denial says. @default such as 'Rate limit exceeded. Try again in 30 seconds.' */
  readonly message?: VerdictFunction<Request, Awaitable<string>>;
  /** The status of a denial. @default 429 */
  readonly statusCode?: number;
  /** A function of the framework's own that answers a denied request, whose status and headers are set, instead. */
  readonly handler?: Handler;
  /** How many processes share the limits, for the rule `'local'`. @default 1 */
  readonly instances?: number;
  /** Whether CORS preflights count. @default false */
  readonly countPreflight?: boolean;
  /** Called once for each request that was decided. */
  readonly onVerdict?: VerdictFunction<Request, void>;
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
  readonly plans?: never;
}

/** One policy with a quota of any algorithm. */
interface QuotaOptions<Request> {
  readonly quota: QuotaInput | ((request: Request) => Awaitable<QuotaInput>);
  /** The policy's name. @default 'default' */
  readonly name?: string;
  readonly limit?: never;
  readonly window?: never;
  readonly policies?: never;
  readonly plans?: never;
}

/** Several policies, met in one step: a request that one of them denies is charged by none. */
interface PoliciesOptions<Request> {
  readonly policies: readonly PolicyOptions<Request>[];
  readonly plans?: never;
  readonly name?: never;
  readonly limit?: never;
  readonly window?: never;
  readonly quota?: never;
}

/** The quotas of one plan, by the names of their policies. One that is in several plans keeps its count from plan to plan. */
export type Plan = Readonly<Record<string, QuotaInput>>;

/** Quotas by the client's plan, met in one step, with `policies` that hold whatever the plan. */
export interface PlansOptions<Request> {
  /** Each plan's quotas, by the plan's name. A plan without any limits nothing. */
  readonly plans: Readonly<Record<string, Plan>>;
  /**
   * The name of a request's plan: of whom `key` finds, so that requests of one user or API key share a look-up
   * that is under way, for a second at most.
   * No answer, a name that is none of `plans` and a look-up that fails come to `defaultPlan`, and without it to an error.
   */
  readonly plan: (request: Request) => Awaitable<string | null | undefined>;
  /** @default none: then it is an error not to find a plan */
  readonly defaultPlan?: string;
  /** Where to get a larger plan: shown in the body where a quota of the plan denied. @default none */
  readonly upgradeUrl?:
    | string
    | ((request: Request, plan: string) => Awaitable<string | undefined>);
  readonly policies?: readonly PolicyOptions<Request>[];
  readonly name?: never;
  readonly limit?: never;
  readonly window?: never;
  readonly quota?: never;
}

/** A function of whatever a framework gives it. */
export type AnyFunction = (...parameters: never[]) => unknown;

/** One of `limit` with `window`, `quota`, `policies`, `plans`; `policies` may stand beside `plans`. All else may be left out. */
export type HttpLimiterOptions<
  Request = unknown,
  Handler extends AnyFunction = AnyFunction,
> = CommonOptions<Request, Handler> &
  (
    | ShorthandOptions<Request>
    | QuotaOptions<Request>
    | PoliciesOptions<Request>
    | PlansOptions<Request>
  );

/** Options without a limit, to which others are added: those of routes, say. */
export type BaseOptions<
  Request = unknown,
  Handler extends AnyFunction = AnyFunction,
> = CommonOptions<Request, Handler> & {
  readonly limit?: never;
  readonly quota?: never;
  readonly policies?: never;
  readonly plans?: never;
};
