import type { PolicyDecision, Verdict } from '@floodgate/core';
import { type Steps, tightestOf, wait } from '@floodgate/core/internal';
import { readText } from './answers.ts';
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
import { familiesOf, headerWriter } from './header-families.ts';
import { type Header, resetSeconds, retryAfterSeconds } from './headers.ts';
import {
  denialHeaders,
  isShown,
  type Meeting,
  passHeaders,
  shownOf,
  staleHeaders,
  type Telling,
} from './limit-headers.ts';
import type { AnyFunction, CommonOptions } from './options.ts';
import type { Denial, Pass } from './outcome.ts';
import { type FoundPlan, QuotaByPlan } from './plans.ts';
import type { HttpPolicy } from './policies.ts';
import type { RequestView } from './request-view.ts';

/** What verdicts come to on the wire: headers, status and body, as a limiter's options say. */
export class Responses<Request> {
  readonly #options: CommonOptions<Request, AnyFunction>;
  /** How headers tell of the limits. */
  readonly telling: Telling;
  /** What scripts of other origins are let read. */
  readonly #exposed: readonly string[];

  constructor(options: CommonOptions<Request, AnyFunction>) {
    this.#options = options;
    const writers = new Map(familiesOf(options.headers).map((one) => [one, headerWriter(one)]));
    this.telling = { writers, legacyPolicy: options.legacyPolicy };
    const names = [...writers.values()].flatMap((writer) => writer.names);
    this.#exposed = options.exposeHeaders === true ? [...names, 'Retry-After', 'Date'] : [];
  }

  /** What is said of a request that may go on. The last of the meetings is this limiter's. */
  pass(verdict: Verdict, meetings: readonly Meeting<Request>[], view: RequestView<Request>): Pass {
    const headers = passHeaders(meetings);
    // Who has nothing to tell leaves the response as it is.
    if (headers === undefined) return { action: 'pass', verdict, headers: [], removed: [] };
    this.#expose(headers, view);
    return { action: 'pass', verdict, headers, removed: staleHeaders(headers, meetings) };
  }

  /** What is said of a request that this limiter denied. The last of the meetings is its own. */
  *deny(
    verdict: Verdict,
    meetings: readonly Meeting<Request>[],
    view: RequestView<Request>,
  ): Steps<Denial> {
    const own = meetings.at(-1) as Meeting<Request>;
    const denying = own.verdict.decisions.filter(({ allowed, advisory }) => !allowed && !advisory);
    // A store failed, and for nothing that its client has used.
    if (denying.every(({ degraded }) => degraded === 'deny')) {
      return this.#unavailable(verdict, meetings, view);
    }
    const retryAfter = retryAfterSeconds(own.verdict.retryAfterMs);
    const shown = shownOf(meetings);
    const headers = denialHeaders(meetings, shown);
    if (retryAfter !== undefined) headers.push(['Retry-After', String(retryAfter)]);
    headers.push(NO_STORE);
    this.#expose(headers, view);

    // What is hidden is the reason told only where it is the only one.
    const told = denying.filter((decision) => isShown(decision, policyOf(own, decision)));
    const reason = tightestOf(told.length > 0 ? told : denying) as PolicyDecision;
    const { handler, statusCode = 429 } = this.#options;
    const status = policyOf(own, reason).statusCode ?? statusCode;
    let body: Body | undefined;
    if (handler === undefined) {
      const longest = tightestOf(denying) as PolicyDecision;
      const refusal = {
        status,
        retryAfter,
        resetAt: resetSeconds(longest.atMs, own.verdict.retryAfterMs),
        policy: told.length > 0 ? reason.policy : undefined,
        violated: told.map(({ policy }) => policy),
        shown: shown.map(({ decision }) => decision),
      };
      // A larger plan is no help against a block, nor against what is no quota of a plan.
      const isOfPlan =
        own.plan !== undefined &&
        told.some((one) => policyOf(own, one).quota instanceof QuotaByPlan && !one.blocked);
      body = yield* this.#body(verdict, view, refusal, own.plan, isOfPlan);
    }
    const removed = staleHeaders(headers, meetings);
    return { action: 'deny', reason: 'limit', verdict, headers, removed, status, body };
  }

  /** How a request is answered that nobody could decide about, where the rule for that is to deny. */
  #unavailable(
    verdict: Verdict,
    meetings: readonly Meeting<Request>[],
    view: RequestView<Request>,
  ): Denial {
    const headers = denialHeaders(meetings, shownOf(meetings));
    headers.push(['Retry-After', '1'], NO_STORE);
    this.#expose(headers, view);
    const { handler, body = 'json' } = this.#options;
    const said = body === 'problem' ? UNAVAILABLE_PROBLEM : UNAVAILABLE;
    return {
      action: 'deny',
      reason: 'unavailable',
      verdict,
      headers,
      removed: staleHeaders(headers, meetings),
      status: 503,
      body: handler === undefined ? said : undefined,
    };
  }

  *#body(
    verdict: Verdict,
    { request }: RequestView<Request>,
    refusal: Refusal,
    plan: FoundPlan<Request> | undefined,
    isOfPlan: boolean,
  ): Steps<Body | undefined> {
    const { body = 'json', message } = this.#options;
    if (typeof body === 'function') return bodyOf(yield* wait(body(verdict, request, plan?.name)));
    const text =
      message === undefined
        ? undefined
        : readText(yield* wait(message(verdict, request, plan?.name)), 'message');
    if (body === 'problem') return problem(refusal, text);
    const told = text ?? defaultMessage(refusal);
    if (plan?.isTold !== true) return rateLimited(refusal, told);
    const upgradeUrl = isOfPlan ? yield* upgradeUrlOf(plan, request) : undefined;
    return rateLimited(refusal, told, { name: plan.name, upgradeUrl });
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
}

function policyOf<Request>(
  { policies }: Meeting<Request>,
  { policy }: PolicyDecision,
): HttpPolicy<Request> {
  return policies.find(({ name }) => name === policy) as HttpPolicy<Request>;
}

function* upgradeUrlOf<Request>(
  { name, upgradeUrl }: FoundPlan<Request>,
  request: Request,
): Steps<string | undefined> {
  if (typeof upgradeUrl !== 'function') return upgradeUrl;
  const url = yield* wait(upgradeUrl(request, name));
  return url === undefined ? undefined : readText(url, 'upgradeUrl');
}

/** Denials are about one moment: nobody should be shown them later. */
const NO_STORE: Header = ['Cache-Control', 'no-store'];
