import type { Verdict } from '@floodgate/core';
import type { Body } from './body.ts';
import type { Header } from './headers.ts';

/** The request may go on, with these headers on its response. */
export interface Pass {
  readonly action: 'pass';
  readonly verdict: Verdict;
  readonly headers: readonly Header[];
}

/** The request is to be answered with this status, these headers and this body. */
export interface Denial {
  readonly action: 'deny';
  readonly verdict: Verdict;
  readonly headers: readonly Header[];
  readonly status: number;
  /** Absent where the limiter has a `handler`, which writes its own, and where a `body` function answered none. */
  readonly body: Body | undefined;
}

/** The client is gone: nothing is to be run, and nothing written. */
export interface Gone {
  readonly action: 'drop';
}

/** What is to be done with a request that was met by a limit. */
export type Outcome = Pass | Denial | Gone;

/** A denial as an error, for a framework's own handling of errors. The headers are on the response by then. */
export interface RateLimitError extends Error {
  readonly code: 'FLOODGATE_RATE_LIMITED';
  readonly statusCode: number;
  readonly verdict: Verdict;
}

export function errorOf({ status, verdict }: Denial): RateLimitError {
  const isUnavailable = verdict.tightest.degraded === 'deny';
  const message = isUnavailable ? 'The rate limiter is unavailable' : 'Rate limit exceeded';
  return Object.assign(new Error(message), {
    code: 'FLOODGATE_RATE_LIMITED' as const,
    statusCode: status,
    verdict,
  });
}
