import type { PolicyDecision, Quota, Verdict } from '@floodgate/core';
import { type Steps, tightestOf, wait } from '@floodgate/core/internal';
import {
  type Body,
  bodyOf,
  defaultMessage,
  problem,
  type Refusal,
  rateLimited,
  UNAVAILABLE,
  UNAVAILABLE_PROBLEM,
} from './body.ts';
import { familiesOf, type HeaderWriter, headerWriter } from './header-families.ts';
import { type Header, resetSeconds, retryAfterSeconds, type Shown } from './headers.ts';
import type { AnyFunction, CommonOptions } from './options.ts';
import type { Denial, Pass } from './outcome.ts';
import { type HttpPolicy, readText } from './policies.ts';
import type { RequestView } from './request-view.ts';

/** What verdicts come to on the wire: headers, status and body, as a limiter's options say. */
export class Responses<Request> {
  readonly #options: CommonOptions<Request, AnyFunction>;
  readonly #policies: ReadonlyMap<string, HttpPolicy<Request>>;
  readonly #writers: readonly HeaderWriter[];
  /** What scripts of other origins are let read. */
  readonly #exposed: readonly string[];

  constructor(
    options: CommonOptions<Request, AnyFunction>,
    policies: readonly HttpPolicy<Request>[],
  ) {
    this.#options = options;
    this.#policies = new Map(policies.map((policy) => [policy.name, policy]));
    this.#writers = familiesOf(options.headers).map(headerWriter);
    const names = this.#writers.flatMap((writer) => writer.names);
    this.#exposed = options.exposeHeaders === true ? [...names, 'Retry-After', 'Date'] : [];
  }

  pass(verdict: Verdict, quotas: readonly Quota[], view: RequestView<Request>): Pass {
    const headers = this.#limits(this.#shownOf(verdict, quotas), this.#options.legacyPolicy);
    this.#expose(headers, view);
    return { action: 'pass', verdict, headers };
  }

  *deny(verdict: Verdict, quotas: readonly Quota[], view: RequestView<Request>): Steps<Denial> {
    const denying = verdict.decisions.filter(({ allowed, advisory }) => !allowed && !advisory);
    // A store failed, and for nothing that its client has used.
    if (denying.every(({ degraded }) => degraded === 'deny')) {
      return this.#unavailable(verdict, view);
    }
    const shown = this.#shownOf(verdict, quotas);
    const retryAfter = retryAfterSeconds(verdict.retryAfterMs);
    const headers = this.#limits(shown, undefined);
    if (retryAfter !== undefined) headers.push(['Retry-After', String(retryAfter)]);
    headers.push(NO_STORE);
    this.#expose(headers, view);

    // What is hidden is the reason told only where it is the only one.
    const told = denying.filter((decision) => this.#isShown(decision));
    const reason = tightestOf(told.length > 0 ? told : denying) as PolicyDecision;
    const { handler, statusCode = 429 } = this.#options;
    const status = this.#policies.get(reason.policy)?.statusCode ?? statusCode;
    const longest = tightestOf(denying) as PolicyDecision;
    const body =
      handler === undefined
        ? yield* this.#body(verdict, view, {
            status,
            retryAfter,
            resetAt: resetSeconds(longest.atMs, verdict.retryAfterMs),
            policy: told.length > 0 ? reason.policy : undefined,
            violated: told.map(({ policy }) => policy),
            shown: shown.map(({ decision }) => decision),
          })
        : undefined;
    return { action: 'deny', reason: 'limit', verdict, headers, status, body };
  }

  /** How a request is answered that nobody could decide about, where the rule for that is to deny. */
  #unavailable(verdict: Verdict, view: RequestView<Request>): Denial {
    const headers: Header[] = [['Retry-After', '1'], NO_STORE];
    this.#expose(headers, view);
    const { handler, body = 'json' } = this.#options;
    const said = body === 'problem' ? UNAVAILABLE_PROBLEM : UNAVAILABLE;
    return {
      action: 'deny',
      reason: 'unavailable',
      verdict,
      headers,
      status: 503,
      body: handler === undefined ? said : undefined,
    };
  }

  *#body(
    verdict: Verdict,
    { request }: RequestView<Request>,
    refusal: Refusal,
  ): Steps<Body | undefined> {
    const { body = 'json', message } = this.#options;
    if (typeof body === 'function') return bodyOf(yield* wait(body(verdict, request)));
    const text =
      message === undefined
        ? undefined
        : readText(yield* wait(message(verdict, request)), 'message');
    return body === 'problem'
      ? problem(refusal, text)
      : rateLimited(refusal, text ?? defaultMessage(refusal));
  }

  /** The headers about the limits; `preferred` names the policy that those with room for one show, if it was met. */
  #limits(shown: readonly Shown[], preferred: string | undefined): Header[] {
    const headers: Header[] = [];
    if (shown.length === 0 || this.#writers.length === 0) return headers;
    const single =
      shown.find(({ decision }) => decision.policy === preferred) ?? tightestShown(shown);
    for (const { write } of this.#writers) write(headers, shown, single);
    return headers;
  }

  /** Adds to the names that scripts of other origins may read, each once. `*` is a name like any other: with credentials it is no more. */
  #expose(headers: Header[], view: RequestView<Request>): void {
    if (this.#exposed.length === 0) return;
    const before = view.responseHeader('access-control-expose-headers');
    const known = new Set(before?.split(',').map((name) => name.trim().toLowerCase()));
    const added = this.#exposed.filter((name) => {
      const isNew = !known.has(name.toLowerCase());
      known.add(name.toLowerCase());
      return isNew;
    });
    if (added.length === 0) return;
    const names = before === undefined || before.trim() === '' ? added : [before, ...added];
    headers.push(['Access-Control-Expose-Headers', names.join(', ')]);
  }

  #shownOf({ decisions }: Verdict, quotas: readonly Quota[]): Shown[] {
    const shown: Shown[] = [];
    for (let i = 0; i < decisions.length; i += 1) {
      const decision = decisions[i] as PolicyDecision;
      if (this.#isShown(decision)) shown.push({ decision, quota: quotas[i] as Quota });
    }
    return shown;
  }

  /** Whether the client may see a decision: of no hidden policy, none in shadow mode, and none that nobody counted. */
  #isShown({ policy, advisory, degraded }: PolicyDecision): boolean {
    const isCounted = degraded === undefined || degraded === 'local';
    return isCounted && !advisory && this.#policies.get(policy)?.hidden !== true;
  }
}

/** Denials are about one moment: nobody should be shown them later. */
const NO_STORE: Header = ['Cache-Control', 'no-store'];

function tightestShown(shown: readonly Shown[]): Shown {
  if (shown.length === 1) return shown[0] as Shown;
  const tightest = tightestOf(shown.map(({ decision }) => decision));
  return shown.find(({ decision }) => decision === tightest) as Shown;
}
