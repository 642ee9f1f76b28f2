import { expect } from '@jest/globals';
import { limitOf, MemoryStore, type Quota, type QuotaInput, toQuota } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

/**
 * A request and what is answered to it; times in milliseconds since the timeline began:
 * `[at, cost, allowed, remaining, retryAfterMs, resetAt, delayMs (0 if left out)]`
 */
export type Row = readonly [
  at: number,
  cost: number,
  allowed: boolean,
  remaining: number,
  retryAfterMs: number,
  resetAt: number,
  delayMs?: number,
];

export const NEVER: number = Number.POSITIVE_INFINITY;

/** A whole minute, hour and day. */
export const START_MS: number = Date.UTC(2026, 0, 1);

/** Plays a table on a fresh store and expects what it says, all of it at once, so that a difference shows its row. */
export function expectTimeline(
  input: QuotaInput,
  rows: readonly Row[],
  startMs: number = START_MS,
): void {
  const clock = new ManualClock(startMs);
  const store = new MemoryStore({ clock });
  const quota = toQuota(input);
  const got = rows.map(([at, cost, , , , , delayMs]): Row => {
    clock.set(startMs + at);
    const [decision] = store.take([{ policy: 'p', key: 'k', quota, cost }]);
    if (decision === undefined) throw new Error('Expected a decision');
    expect(decision).toMatchObject({ limit: limitOf(quota), blocked: false });
    return [
      at,
      cost,
      decision.allowed,
      decision.remaining,
      decision.retryAfterMs,
      decision.resetAtMs - startMs,
      ...(delayMs === undefined && decision.delayMs === 0
        ? ([] as const)
        : ([decision.delayMs] as const)),
    ];
  });
  expect(got).toEqual(rows);
}

/** How many of `count` requests of one unit, all at `at` (since the start), are admitted; for each entry in turn. */
export function countAdmitted(
  quota: Quota,
  bursts: readonly { readonly at: number; readonly count: number }[],
  startMs: number = START_MS,
): number[] {
  const clock = new ManualClock(startMs);
  const store = new MemoryStore({ clock });
  return bursts.map(({ at, count }) => {
    clock.set(startMs + at);
    let admitted = 0;
    for (let i = 0; i < count; i += 1) {
      if (store.take([{ policy: 'p', key: 'k', quota, cost: 1 }])[0]?.allowed) admitted += 1;
    }
    return admitted;
  });
}
