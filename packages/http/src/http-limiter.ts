import {
  type ChargeRequest,
  type Clock,
  type Duration,
  FloodgateError,
  type FloodgateEvent,
  type PolicyDecision,
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
import { overLimit, unavailable } from './denial.ts';
import { type Header, legacyHeaders } from './headers.ts';
import { kindOf } from './keys.ts';
import type { LimiterHandle } from './limiter-handle.ts';
import type { AnyFunction, HttpLimiterOptions } from './options.ts';
import type { Outcome } from './outcome.ts';
import {
  chargesOf,
  type HttpPolicy,
  type RequestCharges,
  rateLimiterOf,
  readBoolean,
  readText,
} from './policies.ts';
import { readPolicies } from './read-options.ts';
import { isPreflight, type RequestView } from './request-view.ts';
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
  readonly #options: HttpLimiterOptions<Request, Handler>;
  readonly #policies: readonly HttpPolicy<Request>[];
  readonly #limiter: RateLimiter<Store>;
  readonly #warnings: Warnings<Request>;
  /** Whether no policy ever does more than watch: then nothing here may fail a request. */
  readonly #onlyWatches: boolean;

  /** @throws FloodgateError `FLOODGATE_INVALID_OPTION` or `FLOODGATE_INVALID_QUOTA` where an option is wrong */
  constructor(options: HttpLimiterOptions<Request, Handler>) {
    this.#policies = readPolicies(options);
    // What was checked is what counts, whatever becomes of the object that it came in.
    this.#options = { ...options };
    this.handler = options.handler;
    this.#onlyWatches = this.#policies.every(({ mode }) => mode === 'shadow');
    this.#limiter = rateLimiterOf(options, this.#policies);
    this.#warnings = new Warnings((event, request) => this.#report(event, request));
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
    if (typeof key !== 'string') return this.#limiter.peek(key, options);
    const policies = this.#policiesOf(key);
    const asking = policies.find(({ quota }) => typeof quota === 'function');
    if (asking !== undefined) {
      throw new FloodgateError(
        'FLOODGATE_INVALID_CHARGE',
        `Expected a quota to peek with: that of policy \`${asking.name}\` depends on the request. ` +
          'Name it: `peek([{ policy, key, quota }])`',
      );
    }
    return this.#limiter.peek(
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
    return this.#limiter.block(this.#subjectsOf(key), duration);
  }

  unblock(key: string): void | Promise<void> {
    return this.#limiter.unblock(this.#subjectsOf(key));
  }

  reset(key: string): void | Promise<void> {
    return this.#limiter.reset(this.#subjectsOf(key));
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

    if (!verdict.allowed) {
      const hasBody = this.handler === undefined;
      if (this.#isUnavailable(verdict)) return unavailable(verdict, hasBody);
      const { message, statusCode = 429 } = this.#options;
      return overLimit(verdict, this.#shownOf(verdict), this.#headersOf(verdict, charges), {
        statusCode,
        hasBody,
        message:
          message === undefined || !hasBody
            ? undefined
            : readText(yield* wait(message(verdict, view.request)), 'message'),
      });
    }
    const { delayMs } = verdict;
    if (delayMs > 0 && !(yield waitForTurn(view, this.#clockOf(verdict), delayMs))) return GONE;
    return { action: 'pass', verdict, headers: this.#headersOf(verdict, charges) };
  }

  #headersOf(verdict: Verdict, { quotas }: RequestCharges): readonly Header[] {
    if (this.#options.headers === false) return NO_HEADERS;
    const { decisions, tightest } = verdict;
    if (!this.#isShown(tightest)) return NO_HEADERS;
    return legacyHeaders(tightest, quotas[decisions.indexOf(tightest)] as Quota);
  }

  #shownOf(verdict: Verdict): readonly PolicyDecision[] {
    return verdict.decisions.filter((decision) => this.#isShown(decision));
  }

  /** Whether the client may see a decision: not one of a policy in shadow mode, nor one that nobody counted. */
  #isShown({ advisory, degraded }: PolicyDecision): boolean {
    return !advisory && degraded !== 'allow';
  }

  /** Whether a request is denied because a store failed, and not for what its client has used. */
  #isUnavailable({ decisions }: Verdict): boolean {
    const denying = decisions.filter(({ allowed, advisory }) => !allowed && !advisory);
    return denying.every(({ degraded }) => degraded === 'deny');
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

  #policiesOf(key: string): readonly HttpPolicy<Request>[] {
    const kind = kindOf(key);
    const policies = this.#policies.filter(({ resolvers }) =>
      resolvers.some(({ kinds }) => kinds.includes(kind)),
    );
    if (policies.length > 0) return policies;
    const kinds = this.#policies.flatMap(({ resolvers }) => resolvers.flatMap((r) => r.kinds));
    const known = [...new Set(kinds)].join(', ');
    const expectation = `a key of a kind that this limiter finds (${known}), such as \`keys\` makes`;
    throw invalid('FLOODGATE_INVALID_OPTION', 'key', expectation, key);
  }

  #subjectsOf(key: string): Subject[] {
    return this.#policiesOf(key).map(({ name }) => ({ policy: name, key }));
  }
}

const GONE: Outcome = { action: 'drop' };
const NO_HEADERS: readonly Header[] = [];

function isNoKey(error: unknown): boolean {
  return (error as Partial<FloodgateError> | undefined)?.code === 'FLOODGATE_NO_KEY';
}
