import {
  type ChargeRequest,
  type Clock,
  type Duration,
  FloodgateError,
  type FloodgateEvent,
  formatQuota,
  type Quota,
  type RateLimiter,
  type Store,
  type Subject,
  type Verdict,
} from '@floodgate/core';
import {
  callHook,
  invalid,
  isPromise,
  messageOf,
  reportEvent,
  runSteps,
  type Steps,
  wait,
} from '@floodgate/core/internal';
import { kindOf } from './keys.ts';
import type { LimiterHandle } from './limiter-handle.ts';
import type { AnyFunction, BaseOptions, CommonOptions, HttpLimiterOptions } from './options.ts';
import type { Outcome } from './outcome.ts';
import {
  chargesOf,
  type HttpPolicy,
  type RequestCharges,
  rateLimiterOf,
  readBoolean,
  toCorePolicies,
} from './policies.ts';
import { checkTogether, DEFAULT_PARTS, type Parts, readOptions } from './read-options.ts';
import { isPreflight, type RequestView } from './request-view.ts';
import { Responses } from './responses.ts';
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
  /** Those of the policies that are not of the limiter that this one extends. */
  readonly #ownPolicies: readonly HttpPolicy<Request>[];
  /** What policies that are added have unless they say otherwise. */
  readonly #shared: Parts<Request>;
  readonly #limiter: RateLimiter<Store>;
  readonly #responses: Responses<Request>;
  readonly #warnings: Warnings<Request>;
  /** Whether no policy ever does more than watch: then nothing here may fail a request. */
  readonly #onlyWatches: boolean;
  readonly #extensions: HttpLimiter<Request, Handler>[] = [];
  #everything: Everything<Request> | undefined;

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
    this.#ownPolicies = policies;
    this.#policies = all;
    this.#responses = new Responses(settled, all);
    this.#onlyWatches = all.every(({ mode }) => mode === 'shadow');
    if (base === undefined) {
      this.#limiter = rateLimiterOf(options, policies);
      this.#warnings = new Warnings((event, request) => this.#report(event, request));
    } else {
      this.#limiter = base.#limiter.extend(toCorePolicies(policies));
      this.#warnings = base.#warnings;
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
    const extension = new HttpLimiter(options, { extending: { limiter: this, name, replace } });
    for (const policy of extension.#ownPolicies) {
      const same = this.#extensions.flatMap((one) => one.#ownPolicies).find(isAlike(policy));
      if (same !== undefined && !isEqualQuota(same.quota, policy.quota)) {
        const expectation = 'different from those of other routes, whose quotas differ';
        throw invalid('FLOODGATE_INVALID_OPTION', 'name', expectation, policy.name);
      }
    }
    this.#extensions.push(extension);
    return extension;
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

  peek(
    key: string | readonly ChargeRequest[],
    options?: { readonly cost?: number },
  ): Verdict | Promise<Verdict> {
    const everything = this.#withExtensions();
    if (typeof key !== 'string') return everything.limiter.peek(key, options);
    const policies = withKind(everything.policies, key);
    if (policies.length === 0) throw unknownKind(everything.policies, key);
    const asking = policies.find(({ quota }) => typeof quota === 'function');
    if (asking !== undefined) {
      throw new FloodgateError(
        'FLOODGATE_INVALID_CHARGE',
        `Expected a quota to peek with: that of policy \`${asking.name}\` depends on the request. ` +
          'Name it: `peek([{ policy, key, quota }])`',
      );
    }
    return everything.limiter.peek(
      // As a request would meet them: who only watches denies nobody.
      policies.map(({ name, cost, mode }) => ({
        policy: name,
        key,
        advisory: mode === 'shadow' || mode === 'off',
        cost: options?.cost ?? (typeof cost === 'number' ? cost : 1),
      })),
    );
  }

  block(key: string, duration: Duration): void | Promise<void> {
    return this.#forSubjects(key, (limiter, subjects) => limiter.block(subjects, duration));
  }

  unblock(key: string): void | Promise<void> {
    return this.#forSubjects(key, (limiter, subjects) => limiter.unblock(subjects));
  }

  reset(key: string): void | Promise<void> {
    return this.#forSubjects(key, (limiter, subjects) => limiter.reset(subjects));
  }

  close(): void {
    this.#limiter.close();
  }

  *#decide(view: RequestView<Request>): Steps<Outcome | undefined> {
    try {
      const { skip, countPreflight = false } = this.#options;
      if (!countPreflight && isPreflight(view)) return undefined;
      if (skip !== undefined && readBoolean(yield* wait(skip(view.request)), 'skip')) {
        return undefined;
      }
      const charges = yield* chargesOf(view, this.#policies, this.#warnings);
      return charges.charges.length === 0 ? undefined : yield* this.#meet(charges, view);
    } catch (error) {
      // A closed connection has no address any more: nobody is there to be told.
      if (isNoKey(error) && view.isClosed) return GONE;
      if (!this.#onlyWatches) throw error;
      this.#warnings.shadowFailed('The limiter', error, view.request);
      return undefined;
    }
  }

  *#meet(charges: RequestCharges, view: RequestView<Request>): Steps<Outcome> {
    let answer: unknown = this.#limiter.take(charges.charges);
    if (isPromise(answer)) answer = yield answer;
    const verdict = answer as Verdict;
    this.#tell(verdict, view.request);

    if (!verdict.allowed) return yield* this.#responses.deny(verdict, charges.quotas, view);
    const { delayMs } = verdict;
    if (delayMs > 0 && !(yield waitForTurn(view, this.#clockOf(verdict), delayMs))) return GONE;
    return this.#responses.pass(verdict, charges.quotas, view);
  }

  /** The clock by which the longest delay was given. */
  #clockOf({ decisions, delayMs }: Verdict): Clock | undefined {
    const slowest = decisions.find((one) => !one.advisory && one.delayMs === delayMs);
    return slowest && this.#policy(slowest.policy).store?.clock;
  }

  #tell(verdict: Verdict, request: Request): void {
    const { onVerdict } = this.#options;
    if (onVerdict === undefined) return;
    callHook(
      () => onVerdict(verdict, request),
      (error) => {
        const message = `onVerdict threw: ${messageOf(error)}`;
        this.#report({ code: 'warning', message, error }, request);
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

  /** This limiter's policies and those of all that extend it, each once, and a limiter that knows them. */
  #withExtensions(): Everything<Request> {
    const names = new Set(this.#policies.map(({ name }) => name));
    const added = this.#extensions
      .flatMap((one) => one.#ownPolicies)
      .filter(({ name }) => !names.has(name) && names.add(name));
    if (this.#everything?.policies.length !== this.#policies.length + added.length) {
      this.#everything = {
        policies: [...this.#policies, ...added],
        limiter: added.length === 0 ? this.#limiter : this.#limiter.extend(toCorePolicies(added)),
      };
    }
    return this.#everything as Everything<Request>;
  }

  /** Does it for the subjects of a key: those of this limiter's policies, and of all that extend it. */
  #forSubjects(
    key: string,
    act: (limiter: RateLimiter<Store>, subjects: readonly Subject[]) => void | Promise<void>,
  ): void | Promise<void> {
    const all = [this, ...this.#extensions];
    const pending: Promise<void>[] = [];
    let isKnown = false;
    for (const one of all) {
      const subjects = withKind(one.#ownPolicies, key).map(({ name }) => ({ policy: name, key }));
      if (subjects.length === 0) continue;
      isKnown = true;
      const done = act(one.#limiter, subjects);
      if (isPromise(done)) pending.push(done);
    }
    if (!isKnown) {
      const policies = all.flatMap((one) => one.#ownPolicies);
      throw unknownKind(policies, key);
    }
    if (pending.length > 0) return Promise.all(pending).then(() => undefined);
  }
}

interface Everything<Request> {
  readonly policies: readonly HttpPolicy<Request>[];
  readonly limiter: RateLimiter<Store>;
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

/** Whether two policies would share their counts. */
function isAlike<Request>(one: HttpPolicy<Request>): (other: HttpPolicy<Request>) => boolean {
  return ({ name, store }) => name === one.name && store === one.store;
}

function isEqualQuota(a: unknown, b: unknown): boolean {
  if (typeof a === 'function' || typeof b === 'function') return a === b;
  return formatQuota(a as Quota) === formatQuota(b as Quota);
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
