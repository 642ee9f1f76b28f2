import type { PolicyDecision, Quota, Verdict } from '@floodgate/core';
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
import { clash, familiesOf, type HeaderWriter, headerWriter } from './header-families.ts';
import { type Header, resetSeconds, retryAfterSeconds, type Shown } from './headers.ts';
import type { AnyFunction, CommonOptions, HeaderFamily } from './options.ts';
import type { Denial, Pass } from './outcome.ts';
import { type FoundPlan, QuotaByPlan } from './plans.ts';
import { type HttpPolicy, isAlike } from './policies.ts';
import type { RequestView } from './request-view.ts';

/** What one limiter decided about one request. */
export interface Meeting<Request> {
  readonly verdict: Verdict;
  /** The policy and the quota of each decision. */
  readonly policies: readonly HttpPolicy<Request>[];
  readonly quotas: readonly Quota[];
  readonly plan: FoundPlan<Request> | undefined;
  /** How the limiter tells. */
  readonly responses: Responses<Request>;
}

/** What verdicts come to on the wire: headers, status and body, as a limiter's options say. */
export class Responses<Request> {
  readonly #options: CommonOptions<Request, AnyFunction>;
  readonly #writers: ReadonlyMap<HeaderFamily, HeaderWriter>;
  /** What scripts of other origins are let read. */
  readonly #exposed: readonly string[];

  constructor(options: CommonOptions<Request, AnyFunction>) {
    this.#options = options;
    this.#writers = new Map(familiesOf(options.headers).map((one) => [one, headerWriter(one)]));
    const names = [...this.#writers.values()].flatMap((writer) => writer.names);
    this.#exposed = options.exposeHeaders === true ? [...names, 'Retry-After', 'Date'] : [];
  }

  /** What is said of a request that may go on. The last of the meetings is this limiter's. */
  pass(verdict: Verdict, meetings: readonly Meeting<Request>[], view: RequestView<Request>): Pass {
    const headers: Header[] = [];
    const own = shownOf([meetings.at(-1) as Meeting<Request>]);
    // Who has nothing to tell leaves the response as it is.
    if (own.length > 0) {
      const preferred = Responses.#preferred(meetings);
      for (const family of this.#writers.keys()) {
        Responses.#tell(headers, family, meetings, preferred, own);
      }
      this.#expose(headers, view);
    }
    return { action: 'pass', verdict, headers, removed: this.#stale(headers, meetings) };
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
    const headers: Header[] = [];
    this.#tellAll(headers, meetings, shown);
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
    const removed = this.#stale(headers, meetings);
    return { action: 'deny', reason: 'limit', verdict, headers, removed, status, body };
  }

  /** How a request is answered that nobody could decide about, where the rule for that is to deny. */
  #unavailable(
    verdict: Verdict,
    meetings: readonly Meeting<Request>[],
    view: RequestView<Request>,
  ): Denial {
    const headers: Header[] = [];
    this.#tellAll(headers, meetings, shownOf(meetings));
    headers.push(['Retry-After', '1'], NO_STORE);
    this.#expose(headers, view);
    const { handler, body = 'json' } = this.#options;
    const said = body === 'problem' ? UNAVAILABLE_PROBLEM : UNAVAILABLE;
    return {
      action: 'deny',
      reason: 'unavailable',
      verdict,
      headers,
      removed: this.#stale(headers, meetings),
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

  /**
   * What earlier limiters have told that does not hold beside these headers: of a denial all that is not told anew; else
   * what shares names with this limiter's own.
   */
  #stale(headers: readonly Header[], meetings: readonly Meeting<Request>[]): readonly string[] {
    if (meetings.length < 2 || headers.length === 0) return NOTHING;
    const isDenied = meetings.at(-1)?.verdict.allowed === false;
    const own = [...this.#writers.keys()];
    const told = new Set(headers.map(([name]) => name));
    const stale = meetings.flatMap(({ responses }) =>
      [...responses.#writers].flatMap(([family, { names }]) =>
        isDenied || own.some((one) => clash(one, family)) ? names : [],
      ),
    );
    return [...new Set(stale)].filter((name) => !told.has(name));
  }

  /**
   * Adds the headers of a denial, in the families of earlier limiters too: what they told has changed, since what they
   * took was given back. Where theirs and this limiter's share names, only this one's are told.
   */
  #tellAll(
    headers: Header[],
    meetings: readonly Meeting<Request>[],
    shown: readonly Shown[],
  ): void {
    if (meetings.length === 1) {
      for (const family of this.#writers.keys()) {
        Responses.#tell(headers, family, meetings, NOTHING, shown);
      }
      return;
    }
    const families = new Set(this.#writers.keys());
    for (const { responses } of meetings) {
      for (const family of responses.#writers.keys()) {
        if (![...families].some((one) => clash(one, family))) families.add(family);
      }
    }
    for (const family of families) Responses.#tell(headers, family, meetings, NOTHING);
  }

  /**
   * Adds the headers of a family: what all limiters that tell by it have decided. Of those that are `preferred`, headers
   * with room for one show the first that was met. `own` are the decisions that the last limiter shows.
   */
  static #tell<Request>(
    headers: Header[],
    family: HeaderFamily,
    meetings: readonly Meeting<Request>[],
    preferred: readonly string[],
    own?: readonly Shown[],
  ): void {
    const telling =
      meetings.length === 1
        ? meetings
        : meetings.filter(({ responses }) => responses.#writers.has(family));
    const shown = meetings.length === 1 && own !== undefined ? own : shownOf(telling);
    if (shown.length === 0) return;
    let single: Shown | undefined;
    for (const name of preferred) {
      single ??= shown.find(({ decision }) => decision.policy === name);
    }
    single ??= tightestShown(shown);
    const { responses } = telling.at(-1) as Meeting<Request>;
    responses.#writers.get(family)?.write(headers, shown, single);
  }

  /** The policies that limiters want in headers with room for one, the latest wish first. */
  static #preferred<Request>(meetings: readonly Meeting<Request>[]): readonly string[] {
    let wishes = NOTHING;
    for (const { responses } of meetings) {
      const { legacyPolicy } = responses.#options;
      if (legacyPolicy !== undefined) wishes = [legacyPolicy, ...wishes];
    }
    return wishes;
  }
}

function shownOf<Request>(meetings: readonly Meeting<Request>[]): Shown[] {
  const shown: Shown[] = [];
  for (const { verdict, policies, quotas } of meetings) {
    const { decisions } = verdict;
    for (let i = 0; i < decisions.length; i += 1) {
      const decision = decisions[i] as PolicyDecision;
      const policy = policies[i] as HttpPolicy<Request>;
      if (isShown(decision, policy) && !isChargedAnew(decision, policy, meetings)) {
        shown.push({ decision, quota: quotas[i] as Quota });
      }
    }
  }
  return shown;
}

function policyOf<Request>(
  { policies }: Meeting<Request>,
  { policy }: PolicyDecision,
): HttpPolicy<Request> {
  return policies.find(({ name }) => name === policy) as HttpPolicy<Request>;
}

/** Whether a later limiter has charged the same subject, in the place of this. */
function isChargedAnew<Request>(
  decision: PolicyDecision,
  policy: HttpPolicy<Request>,
  meetings: readonly Meeting<Request>[],
): boolean {
  if (meetings.length === 1) return false;
  let last = decision;
  for (const { policies, verdict } of meetings) {
    for (const [i, one] of policies.entries()) {
      const other = verdict.decisions[i] as PolicyDecision;
      if (isAlike(one, policy) && other.key === decision.key && !other.advisory) last = other;
    }
  }
  return last !== decision;
}

/** Whether the client may see a decision: of no hidden policy, none in shadow mode, and none that nobody counted. */
function isShown<Request>(
  { advisory, degraded }: PolicyDecision,
  { hidden }: HttpPolicy<Request>,
): boolean {
  return (degraded === undefined || degraded === 'local') && !advisory && !hidden;
}

function* upgradeUrlOf<Request>(
  { name, upgradeUrl }: FoundPlan<Request>,
  request: Request,
): Steps<string | undefined> {
  if (typeof upgradeUrl !== 'function') return upgradeUrl;
  const url = yield* wait(upgradeUrl(request, name));
  return url === undefined ? undefined : readText(url, 'upgradeUrl');
}

const NOTHING: readonly string[] = [];

/** Denials are about one moment: nobody should be shown them later. */
const NO_STORE: Header = ['Cache-Control', 'no-store'];

function tightestShown(shown: readonly Shown[]): Shown {
  if (shown.length === 1) return shown[0] as Shown;
  const tightest = tightestOf(shown.map(({ decision }) => decision));
  return shown.find(({ decision }) => decision === tightest) as Shown;
}
