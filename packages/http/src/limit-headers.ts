import type { PolicyDecision, Quota, Verdict } from '@floodgate/core';
import { tightestOf } from '@floodgate/core/internal';
import { clash, type HeaderWriter } from './header-families.ts';
import type { Header, Shown } from './headers.ts';
import type { HeaderFamily } from './options.ts';
import type { FoundPlan } from './plans.ts';
import { type HttpPolicy, isAlike } from './policies.ts';

// The headers about the limits of a request, of all limiters that it has met. The last of the meetings is the one that
// decided now.

/** How a limiter tells of limits in headers. */
export interface Telling {
  readonly writers: ReadonlyMap<HeaderFamily, HeaderWriter>;
  /** The policy that headers with room for one show while the request is admitted. */
  readonly legacyPolicy: string | undefined;
}

/** What one limiter decided about one request. */
export interface Meeting<Request> {
  readonly verdict: Verdict;
  /** The policy and the quota of each decision. */
  readonly policies: readonly HttpPolicy<Request>[];
  readonly quotas: readonly Quota[];
  readonly plan: FoundPlan<Request> | undefined;
  /** How the limiter tells. */
  readonly telling: Telling;
}

/** The headers of a request that may go on; undefined where the limiter has nothing to tell. */
export function passHeaders<Request>(meetings: readonly Meeting<Request>[]): Header[] | undefined {
  const last = meetings.at(-1) as Meeting<Request>;
  const own = shownOf([last]);
  if (own.length === 0) return undefined;
  const headers: Header[] = [];
  const preferred = preferredPolicies(meetings);
  for (const family of last.telling.writers.keys()) {
    writeFamily(headers, family, meetings, own, preferred);
  }
  return headers;
}

/**
 * The headers of a denial, in the families of earlier limiters too: what they told has changed, since what they took was
 * given back. Where theirs and the last one's share names, only the last one's are told. `shown` is what all may show.
 */
export function denialHeaders<Request>(
  meetings: readonly Meeting<Request>[],
  shown: readonly Shown[],
): Header[] {
  const families = new Set(meetings.at(-1)?.telling.writers.keys());
  if (meetings.length > 1) {
    for (const { telling } of meetings) {
      for (const family of telling.writers.keys()) {
        if (![...families].some((one) => clash(one, family))) families.add(family);
      }
    }
  }
  const headers: Header[] = [];
  for (const family of families) writeFamily(headers, family, meetings, shown, NOTHING);
  return headers;
}

/**
 * What earlier limiters have told that does not hold beside these headers: of a denial all that is not told anew; else
 * what shares names with the last one's own.
 */
export function staleHeaders<Request>(
  headers: readonly Header[],
  meetings: readonly Meeting<Request>[],
): readonly string[] {
  if (meetings.length < 2) return NOTHING;
  const { verdict, telling } = meetings.at(-1) as Meeting<Request>;
  const own = [...telling.writers.keys()];
  const told = new Set(headers.map(([name]) => name));
  const stale = meetings.flatMap((meeting) =>
    [...meeting.telling.writers].flatMap(([family, { names }]) =>
      !verdict.allowed || own.some((one) => clash(one, family)) ? names : [],
    ),
  );
  return [...new Set(stale)].filter((name) => !told.has(name));
}

/** The decisions that the client may see, each subject's once. */
export function shownOf<Request>(meetings: readonly Meeting<Request>[]): Shown[] {
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

/** Whether the client may see a decision: of no hidden policy, none in shadow mode, and none that nobody counted. */
export function isShown<Request>(
  { advisory, degraded }: PolicyDecision,
  { hidden }: HttpPolicy<Request>,
): boolean {
  return (degraded === undefined || degraded === 'local') && !advisory && !hidden;
}

/**
 * Adds the headers of a family: what all limiters that tell by it have decided. Of those that are `preferred`, headers
 * with room for one show the first that was met. `shown` is what a single limiter shows, so that it is found once.
 */
function writeFamily<Request>(
  headers: Header[],
  family: HeaderFamily,
  meetings: readonly Meeting<Request>[],
  shown: readonly Shown[],
  preferred: readonly string[],
): void {
  const isOne = meetings.length === 1;
  const told = isOne ? meetings : meetings.filter(({ telling }) => telling.writers.has(family));
  const all = isOne ? shown : shownOf(told);
  if (all.length === 0) return;
  let single: Shown | undefined;
  for (const name of preferred) {
    single ??= all.find(({ decision }) => decision.policy === name);
  }
  single ??= tightestShown(all);
  told.at(-1)?.telling.writers.get(family)?.write(headers, all, single);
}

/** The policies that limiters want in headers with room for one, the latest wish first. */
function preferredPolicies<Request>(meetings: readonly Meeting<Request>[]): readonly string[] {
  let wishes = NOTHING;
  for (const { telling } of meetings) {
    if (telling.legacyPolicy !== undefined) wishes = [telling.legacyPolicy, ...wishes];
  }
  return wishes;
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

const NOTHING: readonly string[] = [];

function tightestShown(shown: readonly Shown[]): Shown {
  if (shown.length === 1) return shown[0] as Shown;
  const tightest = tightestOf(shown.map(({ decision }) => decision));
  return shown.find(({ decision }) => decision === tightest) as Shown;
}
