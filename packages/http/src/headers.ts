import { type Decision, fillTimeOf, type PolicyDecision, type Quota } from '@floodgate/core';

export type Header = readonly [name: string, value: string];

/** A decision that the client may see, and the quota that it was made by. */
export interface Shown {
  readonly decision: PolicyDecision;
  readonly quota: Quota;
}

/**
 * How long until the client may go on as told: until a denied charge is admitted, else until all is there again, at
 * most one window (of a bucket, its time to fill). `Infinity` where no wait helps.
 */
export function waitMsOf(decision: Decision, quota: Quota): number {
  if (!decision.allowed) return decision.retryAfterMs;
  return Math.min(decision.resetAtMs - decision.atMs, fillTimeOf(quota));
}

/** Whole seconds, at least 1, after which the wait is over; undefined where none helps. */
export function retryAfterSeconds(waitMs: number): number | undefined {
  return Number.isFinite(waitMs) ? Math.max(1, Math.ceil(waitMs / 1000)) : undefined;
}

/**
 * The first whole second since 1970 at which the wait is over; undefined where none helps. Rounded as one sum, so
 * that it stays the same from a window's first request to its last.
 */
export function resetSeconds(atMs: number, waitMs: number): number | undefined {
  return Number.isFinite(waitMs) ? Math.ceil((atMs + waitMs) / 1000) : undefined;
}

/** The quota's window (of a bucket, its time to fill) in whole seconds, at least 1. */
export function windowSeconds(quota: Quota): number {
  return Math.max(1, Math.ceil(fillTimeOf(quota) / 1000));
}

/** The wait in whole seconds from now; undefined where none helps. A denial's is as in `Retry-After`. */
export function waitSeconds({ decision, quota }: Shown): number | undefined {
  const waitMs = waitMsOf(decision, quota);
  return decision.allowed ? Math.ceil(waitMs / 1000) : retryAfterSeconds(waitMs);
}
