import type { PolicyDecision, Verdict } from '@floodgate/core';
import { defaultMessage, rateLimited, UNAVAILABLE } from './body.ts';
import { type Header, resetSeconds, retryAfterSeconds } from './headers.ts';
import type { Denial } from './outcome.ts';

/** What a denial says. */
export interface DenialForm {
  readonly statusCode: number;
  /** Whether a body is wanted: a handler writes its own. */
  readonly hasBody: boolean;
  /** In the body; the default where it is undefined. */
  readonly message: string | undefined;
}

/**
 * How a request over its limit is answered: with `headers`, which any counted response gets, those of a denial, and a
 * body about the decisions that the client may see.
 */
export function overLimit(
  verdict: Verdict,
  shown: readonly PolicyDecision[],
  headers: readonly Header[],
  { statusCode, hasBody, message }: DenialForm,
): Denial {
  const { tightest } = verdict;
  const retryAfter = retryAfterSeconds(verdict.retryAfterMs);
  const all = [...headers];
  if (retryAfter !== undefined) all.push(['Retry-After', String(retryAfter)]);
  all.push(NO_STORE);
  const body = hasBody
    ? rateLimited({
        message: message ?? defaultMessage(retryAfter),
        retryAfter,
        resetAt: resetSeconds(tightest.atMs, tightest.retryAfterMs),
        policy: tightest.policy,
        shown,
      })
    : undefined;
  return { action: 'deny', verdict, headers: all, status: statusCode, body };
}

/** How a request is answered that nobody could decide about, where the rule for that is to deny. */
export function unavailable(verdict: Verdict, hasBody: boolean): Denial {
  const body = hasBody ? UNAVAILABLE : undefined;
  return { action: 'deny', verdict, headers: UNAVAILABLE_HEADERS, status: 503, body };
}

/** Denials are about one moment: nobody should be shown them later. */
const NO_STORE: Header = ['Cache-Control', 'no-store'];

const UNAVAILABLE_HEADERS: readonly Header[] = [['Retry-After', '1'], NO_STORE];
