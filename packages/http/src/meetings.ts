import type { Verdict } from '@floodgate/core';
import { combineVerdicts, giveBack, type Steps, wait } from '@floodgate/core/internal';
import type { HttpPolicy } from './policies.ts';
import type { Meeting } from './responses.ts';

/** All the limiters that met a request, in order. */
const meetings = new WeakMap<object, readonly Meeting<never>[]>();

/** What was decided about a request before, by whatever limiter. */
export function meetingsOf<Request>(raw: object): readonly Meeting<Request>[] {
  return (meetings.get(raw) as readonly Meeting<Request>[] | undefined) ?? NONE;
}

const NONE: readonly never[] = [];

/** Whether a request was asked for a policy's units before, whoever's they are to be. */
export function isMet<Request>(
  before: readonly Meeting<Request>[],
  policy: HttpPolicy<Request>,
): boolean {
  return before.some(({ policies }) => policies.includes(policy));
}

/** Whether a request was asked for the units of a subject before: by a policy of the same name on the same store. */
export function isCharged<Request>(
  before: readonly Meeting<Request>[],
  { name, store }: HttpPolicy<Request>,
  key: string,
): boolean {
  if (store === undefined) return false;
  return before.some(({ policies, verdict }) =>
    policies.some(
      (policy, i) =>
        policy.name === name && policy.store === store && verdict.decisions[i]?.key === key,
    ),
  );
}

/**
 * Keeps what a limiter decided, beside what others did `before`. What those took is given back where this one denies:
 * the request is not served, so nothing is charged for it.
 */
export function* keepMeeting<Request>(
  raw: object,
  meeting: Meeting<Request>,
  before: readonly Meeting<Request>[],
): Steps<readonly Meeting<Request>[]> {
  const all: Meeting<Request>[] = [];
  for (const one of before) {
    all.push(
      meeting.verdict.allowed || !one.verdict.allowed
        ? one
        : { ...one, verdict: yield* wait(giveBack(one.verdict)) },
    );
  }
  all.push(meeting);
  meetings.set(raw, all as readonly Meeting<unknown>[] as readonly Meeting<never>[]);
  return all;
}

/** What all limiters together answer. */
export function verdictOf<Request>(all: readonly Meeting<Request>[]): Verdict {
  const [only] = all;
  if (only !== undefined && all.length === 1) return only.verdict;
  return combineVerdicts(all.map(({ verdict }) => verdict));
}
