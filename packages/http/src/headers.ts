import type { Decision, Quota } from '@floodgate/core';
import { fillTimeOf } from '@floodgate/core';

export type Header = readonly [name: string, value: string];

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

/** `X-RateLimit-*`. Where no wait helps there is no `-Reset`, as there is no `Retry-After`. */
export function legacyHeaders(decision: Decision, quota: Quota): Header[] {
  const headers: Header[] = [
    ['X-RateLimit-Limit', String(decision.limit)],
    ['X-RateLimit-Remaining', String(decision.remaining)],
  ];
  const reset = resetSeconds(decision.atMs, waitMsOf(decision, quota));
  if (reset !== undefined) headers.push(['X-RateLimit-Reset', String(reset)]);
  return headers;
}
