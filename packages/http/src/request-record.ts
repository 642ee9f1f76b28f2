import type { Verdict } from '@floodgate/core';
import { combineVerdicts, giveBack, isUnsettled, type Steps, wait } from '@floodgate/core/internal';
import type { Meeting } from './limit-headers.ts';
import { type HttpPolicy, isAlike } from './policies.ts';

const NONE: readonly never[] = [];

/** What limiters have decided about one request, in order, and whether one is about to. */
export class RequestRecord<Request> {
  #meetings: readonly Meeting<Request>[] = NONE;
  #deciding = 0;
  #waiting: (() => void)[] | undefined;

  get meetings(): readonly Meeting<Request>[] {
    return this.#meetings;
  }

  /** What all limiters together answer. */
  get verdict(): Verdict {
    const [only] = this.#meetings;
    if (only !== undefined && this.#meetings.length === 1) return only.verdict;
    return combineVerdicts(this.#meetings.map(({ verdict }) => verdict));
  }

  /** A limiter begins to decide. */
  begin(): void {
    this.#deciding += 1;
  }

  /** A limiter that began has decided, or failed to. */
  end(): void {
    this.#deciding -= 1;
    if (this.#deciding > 0 || this.#waiting === undefined) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const work of waiting) work();
  }

  /** Does something at once, or when no limiter is deciding any more. */
  whenDecided(work: () => void): void {
    if (this.#deciding === 0) {
      work();
    } else {
      this.#waiting ??= [];
      this.#waiting.push(work);
    }
  }

  /** Keeps what a limiter decided. */
  keep(meeting: Meeting<Request>): void {
    this.#meetings = this.#meetings === NONE ? [meeting] : [...this.#meetings, meeting];
  }

  /** Gives back what limiters took before: the last one has denied, so that the request is not served. */
  *giveBack(): Steps<void> {
    const all = [...this.#meetings];
    for (const [i, one] of all.entries()) {
      if (one.verdict.allowed) all[i] = { ...one, verdict: yield* wait(giveBack(one.verdict)) };
    }
    this.#meetings = all;
  }

  /** Whether a policy has decided about the request before. Who only watched then has not decided for who enforces now. */
  isMet(policy: HttpPolicy<Request>, advisory: boolean): boolean {
    return this.#meetings.some(({ policies, verdict }) =>
      policies.some((one, i) => one === policy && (advisory || !isAdvisory(verdict, i))),
    );
  }

  /**
   * What the request is charged for a subject: by a policy of the same name on the same store. Undefined where none has
   * taken anything that still stands.
   */
  costOf(policy: HttpPolicy<Request>, key: string, advisory: boolean): number | undefined {
    if (this.#meetings.length === 0) return undefined;
    let cost: number | undefined;
    for (const { verdict, decision } of this.#of(policy, key)) {
      const isTaken = isUnsettled(verdict, policy.name) && decision.allowed && isCounted(decision);
      if (isTaken && (advisory || !decision.advisory)) cost = decision.cost;
    }
    return cost;
  }

  /**
   * Gives back what a subject was charged before, while its policy only watched or for less: it is charged for all of it
   * now.
   */
  *giveBackCharged(policy: HttpPolicy<Request>, key: string): Steps<void> {
    for (const { verdict } of this.#of(policy, key)) {
      if (isUnsettled(verdict, policy.name)) yield* wait(verdict.settle({ [policy.name]: 0 }));
    }
  }

  /** The name of a policy that another one has too, which counts apart. */
  sameNameAs(policies: readonly HttpPolicy<Request>[]): string | undefined {
    const before = this.#meetings.flatMap((meeting) => meeting.policies);
    const same = policies.find((policy) =>
      before.some((one) => one.name === policy.name && !isAlike(one, policy)),
    );
    return same?.name;
  }

  /** What was decided about a subject before. */
  *#of(
    policy: HttpPolicy<Request>,
    key: string,
  ): Generator<{ readonly verdict: Verdict; readonly decision: Verdict['decisions'][number] }> {
    for (const { policies, verdict } of this.#meetings) {
      for (const [i, one] of policies.entries()) {
        const decision = verdict.decisions[i];
        if (decision?.key === key && isAlike(one, policy)) yield { verdict, decision };
      }
    }
  }
}

/**
 * Where a request keeps it: looked for at each request, a property takes a fraction of what a weak map does. Each copy of
 * this package has its own.
 */
const RECORD = Symbol('floodgate');

interface Recorded {
  [RECORD]?: unknown;
}

/** The record of a request, which all limiters that meet it share. */
export function recordOf<Request>(raw: object): RequestRecord<Request> {
  const recorded = raw as Recorded;
  recorded[RECORD] ??= new RequestRecord<Request>();
  return recorded[RECORD] as RequestRecord<Request>;
}

function isAdvisory({ decisions }: Verdict, index: number): boolean {
  return decisions[index]?.advisory === true;
}

/** Whether a store, or what stands in for it, has counted a decision. */
function isCounted({ degraded }: Verdict['decisions'][number]): boolean {
  return degraded === undefined || degraded === 'local';
}
