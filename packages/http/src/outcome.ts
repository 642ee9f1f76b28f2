import { FloodgateError, type Verdict } from '@floodgate/core';
import type { Body } from './body.ts';
import type { Header } from './headers.ts';

/** The request may go on, with these headers on its response. */
export interface Pass {
  readonly action: 'pass';
  readonly verdict: Verdict;
  readonly headers: readonly Header[];
  /** The names of headers that earlier limiters told, and that hold no longer. */
  readonly removed: readonly string[];
}

/** The request is to be answered with this status, these headers and this body. */
export interface Denial {
  readonly action: 'deny';
  /** Whether the request is over a limit, or a store failed and nobody could tell. */
  readonly reason: 'limit' | 'unavailable';
  readonly verdict: Verdict;
  readonly headers: readonly Header[];
  readonly removed: readonly string[];
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
export interface RateLimitError extends FloodgateError {
  readonly code: 'FLOODGATE_RATE_LIMITED' | 'FLOODGATE_RATE_LIMITER_UNAVAILABLE';
  readonly statusCode: number;
  readonly verdict: Verdict;
}

export function errorOf({ reason, status, verdict }: Denial): RateLimitError {
  const error =
    reason === 'limit'
      ? new FloodgateError('FLOODGATE_RATE_LIMITED', 'Rate limit exceeded')
      : new FloodgateError('FLOODGATE_RATE_LIMITER_UNAVAILABLE', 'The rate limiter is unavailable');
  return Object.assign(error, { statusCode: status, verdict }) as RateLimitError;
}
