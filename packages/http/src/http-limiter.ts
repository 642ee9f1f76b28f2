import {
  type ChargeRequest,
  type Clock,
  type Duration,
  FloodgateError,
  type FloodgateEvent,
  type RateLimiter,
  type Store,
  type Verdict,
} from '@floodgate/core';
import {
  callHook,
  isPromise,
  messageOf,
  reportEvent,
  runSteps,
  type Steps,
  wait,
} from '@floodgate/core/internal';
import { readBoolean } from './answers.ts';
import { RequestCharges } from './charges.ts';
import { claimNames } from './claimed-names.ts';
import type { LimiterHandle, PeekOptions } from './limiter-handle.ts';
import { Operator } from './operator.ts';
import type { AnyFunction, BaseOptions, CommonOptions, HttpLimiterOptions } from './options.ts';
import type { Outcome } from './outcome.ts';
import { type HttpPolicy, rateLimiterOf, toCorePolicies } from './policies.ts';
import { checkTogether, readOptions } from './read-options.ts';
import { DEFAULT_PARTS, type Parts } from './read-policies.ts';
import { type RequestRecord, recordOf } from './request-record.ts';
import { isPreflight, type RequestView } from './request-view.ts';
import { Responses } from './responses.ts';
import { settleAtEnd } from './settle.ts';
import { waitForTurn } from './turn.ts';
import { Warnings } from './warnings.ts';

/**
 * Limits HTTP requests, whatever the framework: an adapter shows it each request and does with the response as it is
 * told. In a script it is the handle of a limiter that runs elsewhere, made with the same options and store.
 *
 * @example
 * const limiter = new HttpLimiter({ limit: 100, window: '1m', key: byUser(find), store });
 * await limiter.block(keys.user(42), '1h');
 */
export class HttpLimiter<Request = unknown, Handler extends AnyFunction = AnyFunction>
  implements LimiterHandle
{
  /** What answers a denied request in the limiter's place. */
  readonly handler: Handler | undefined;
  readonly #options: CommonOptions<Request, Handler>;
  readonly #policies: readonly HttpPolicy<Request>[];
  /** What policies that are added have unless they say otherwise. */
  readonly #shared: Parts<Request>;
  readonly #limiter: RateLimiter<Store>;
  readonly #responses: Responses<Request>;
  readonly #warnings: Warnings<Request>;
  /** Whether a policy learns its costs when the response has ended. */
  readonly #settles: boolean;
  readonly #operator: Operator<Request>;
  /** Stands for the store of policies that name none: one for a limiter and all that extend it. */
  readonly #ownStore: object;
  /** Gives the names back that the limiter, and all that extend it, claimed. */
  readonly #releases: (() => void)[];

  /** @throws FloodgateError `FLOODGATE_INVALID_OPTION` or `FLOODGATE_INVALID_QUOTA` where an option is wrong */
  constructor(
    options: HttpLimiterOptions<Request, Handler> | BaseOptions<Request, Handler>,
    { mayBeEmpty = false, extending }: HttpLimiterSetup<Request, Handler> = {},
  ) {
    const base = extending?.limiter;
    const { policies, shared } = readOptions<Request>(options, {
      shared: base === undefined ? DEFAULT_PARTS : base.#shared,
      name: extending?.name ?? 'default',
      mayBeEmpty,
    });
    const all =
      base === undefined || extending?.replace === true
        ? policies
        : [...base.#policies, ...policies];
    // What was checked is what counts, whatever becomes of the object that it came in.
    const settled = base === undefined ? { ...options } : { ...base.#options, ...given(options) };
    checkTogether(all, settled.headers, options.legacyPolicy);
    this.#options = settled;
    this.handler = settled.handler;
    this.#shared = shared;
    this.#policies = all;
    this.#responses = new Responses(settled);
    this.#settles = all.some(({ settle }) => settle !== undefined);
    this.#ownStore = base === undefined ? {} : base.#ownStore;
    const release = claimNames(policies, this.#ownStore);
    try {
      this.#limiter =
        base === undefined
          ? rateLimiterOf(options, policies)
          : base.#limiter.extend(toCorePolicies(policies), extending?.replace);
    } catch (error) {
      // A limiter that is never made claims nothing.
      release();
      throw error;
    }
    this.#releases = base === undefined ? [] : base.#releases;
    this.#releases.push(release);
    const limits = { policies, limiter: this.#limiter };
    if (base === undefined) {
      this.#warnings = new Warnings((event, request) => this.#report(event, request));
      this.#operator = new Operator(limits);
    } else {
      this.#warnings = base.#warnings;
      this.#operator = base.#operator;
      this.#operator.add(limits);
    }
  }

  /**
   * A limiter that meets the policies of `options` as well, in one step with this one's and on the same store; with
   * `replace` only those. What the options leave out is as it is here.
   *
   * @throws FloodgateError as the constructor does
   */
  extend(
    options: HttpLimiterOptions<Request, Handler>,
    { name, replace }: { readonly name: string; readonly replace: boolean },
  ): HttpLimiter<Request, Handler> {
    for (const option of ['instances', 'onEvent'] as const) {
      if (options[option] !== undefined) {
        const text = `Expected no \`${option}\` here: it is the limiter's whose policies these are added to`;
        throw new FloodgateError('FLOODGATE_INVALID_OPTION', text);
      }
    }
    return new HttpLimiter(options, { extending: { limiter: this, name, replace } });
  }

  /**
   * What is to be done with a request: undefined where no limit applies. A promise only where the store or a function
   * in an option answers with one, or the request has to wait for its turn.
   *
   * @throws FloodgateError `FLOODGATE_NO_KEY`; whatever a function in an option throws
   */
  decide(view: RequestView<Request>): Outcome | undefined | Promise<Outcome | undefined> {
    return runSteps(this.#decide(view));
  }

  peek(key: string | readonly ChargeRequest[], options?: PeekOptions): Verdict | Promise<Verdict> {
    return this.#operator.peek(key, options);
  }

  block(key: string, duration: Duration): void | Promise<void> {
    return this.#operator.forSubjects(key, (limiter, subjects) =>
      limiter.block(subjects, duration),
    );
  }

  unblock(key: string): void | Promise<void> {
    return this.#operator.forSubjects(key, (limiter, subjects) => limiter.unblock(subjects));
  }

  reset(key: string): void | Promise<void> {
    return this.#operator.forSubjects(key, (limiter, subjects) => limiter.reset(subjects));
  }

  close(): void {
    this.#limiter.close();
    for (const release of this.#releases.splice(0)) release();
  }

  *#decide(view: RequestView<Request>): Steps<Outcome | undefined> {
    try {
      const { skip, countPreflight = false } = this.#options;
      if (!countPreflight && isPreflight(view)) return undefined;
      if (skip !== undefined && readBoolean(yield* wait(skip(view.request)), 'skip')) {
        return undefined;
      }
      return yield* this.#decideBeside(recordOf<Request>(view.raw), view);
    } catch (error) {
      // A closed connection has no address any more: nobody is there to be told.
      if (isNoKey(error) && view.isClosed) return GONE;
      if (!(yield* this.#onlyWatches(view.request))) throw error;
      this.#warnings.shadowFailed('The limiter', error, view.request);
      return undefined;
    }
  }

  *#decideBeside(
    record: RequestRecord<Request>,
    view: RequestView<Request>,
  ): Steps<Outcome | undefined> {
    const charges = new RequestCharges(view, record, this.#warnings);
    let verdict: Verdict;
    record.begin();
    try {
      yield* charges.add(this.#policies);
      if (charges.charges.length === 0) return undefined;
      const isFirst = record.meetings.length === 0;
      if (!isFirst) yield* this.#meetAfter(charges, record, view.request);

      let answer: unknown = this.#limiter.take(charges.charges);
      if (isPromise(answer)) answer = yield answer;
      verdict = answer as Verdict;
      const { policies, quotas, plan } = charges;
      this.#tell(verdict, view.request, plan?.name);
      record.keep({ verdict, policies, quotas, plan, telling: this.#responses.telling });
      if (!isFirst && !verdict.allowed) yield* record.giveBack();
    } finally {
      record.end();
    }
    if (!verdict.allowed) {
      return yield* this.#responses.deny(record.verdict, record.meetings, view);
    }
    if (this.#settles && this.#settleLater(charges, record, verdict, view)) return GONE;
    const { delayMs } = verdict;
    if (delayMs > 0 && !(yield waitForTurn(view, this.#clockOf(verdict), delayMs))) return GONE;
    return this.#responses.pass(record.verdict, record.meetings, view);
  }

  /** What is to be done before a request is charged that other limiters have met. */
  *#meetAfter(
    { charges, policies }: RequestCharges<Request>,
    record: RequestRecord<Request>,
    request: Request,
  ): Steps<void> {
    const name = record.sameNameAs(policies);
    if (name !== undefined) this.#warnings.sameName(name, request);
    for (const [i, { key, advisory }] of charges.entries()) {
      const policy = policies[i] as HttpPolicy<Request>;
      if (advisory !== true) yield* record.giveBackCharged(policy, key);
    }
  }

  /**
   * Has costs settled when the response has ended. True where it has already: whoever went away while this was decided
   * is settled, and what the handler would cost, nobody would pay.
   */
  #settleLater(
    { policies }: RequestCharges<Request>,
    record: RequestRecord<Request>,
    verdict: Verdict,
    view: RequestView<Request>,
  ): boolean {
    if (!policies.some(({ settle }) => settle !== undefined)) return false;
    settleAtEnd(view, record, verdict, policies, (message, error) =>
      this.#report({ code: 'settle-failed', message, error }, view.request),
    );
    return view.isClosed && verdict.enforced;
  }

  /** Whether no policy does more than watch a request: then nothing here may fail it. */
  *#onlyWatches(request: Request): Steps<boolean> {
    for (const { mode } of this.#policies) {
      const told = typeof mode === 'string' ? mode : yield* wait(mode(request));
      if (told !== 'shadow' && told !== 'off') return false;
    }
    return this.#policies.length > 0;
  }

  /** The clock by which the longest delay was given. */
  #clockOf({ decisions, delayMs }: Verdict): Clock | undefined {
    const slowest = decisions.find((one) => !one.advisory && one.delayMs === delayMs);
    return slowest && this.#policy(slowest.policy).store?.clock;
  }

  #tell(verdict: Verdict, request: Request, plan: string | undefined): void {
    const { onVerdict } = this.#options;
    if (onVerdict === undefined) return;
    callHook(
      () => onVerdict(verdict, request, plan),
      (error) => {
        const message = `onVerdict threw: ${messageOf(error)}`;
        this.#report({ code: 'warning', reason: 'hook-threw', message, error }, request);
      },
    );
  }

  #report(event: FloodgateEvent, request: Request): void {
    const { onEvent } = this.#options;
    reportEvent(onEvent && ((event) => onEvent(event, request)), event);
  }

  #policy(name: string): HttpPolicy<Request> {
    return this.#policies.find((policy) => policy.name === name) as HttpPolicy<Request>;
  }
}

/** What is not for users to say, but for an adapter. */
export interface HttpLimiterSetup<Request, Handler extends AnyFunction> {
  /** Whether there may be no limit at all, until one is added by `extend`. @default false */
  readonly mayBeEmpty?: boolean;
  readonly extending?: {
    readonly limiter: HttpLimiter<Request, Handler>;
    /** The name of a policy that has none. */
    readonly name: string;
    readonly replace: boolean;
  };
}

const GONE: Outcome = { action: 'drop' };

function isNoKey(error: unknown): boolean {
  return (error as Partial<FloodgateError> | undefined)?.code === 'FLOODGATE_NO_KEY';
}

/** What was given: an option that is undefined is one that was left out. */
function given<Options extends object>(options: Options): Partial<Options> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Options>;
}
