import { invalid, type PolicyDecision, type Verdict } from '@floodgate/core';
import { type Steps, wait } from './answers.ts';
import { type DenialError, defaultMessage, type JsonBody, jsonBody } from './body.ts';
import { type Header, resetSeconds, retryAfterSeconds } from './headers.ts';
import type { AnyFunction, HttpLimiterOptions } from './options.ts';
import type { Denial } from './outcome.ts';

/** Denials are about one moment: nobody should be shown them later. */
const NO_STORE: Header = ['Cache-Control', 'no-store'];

const UNAVAILABLE_HEADERS: readonly Header[] = [['Retry-After', '1'], NO_STORE];

const UNAVAILABLE_BODY = jsonBody({
  code: 'RATE_LIMITER_UNAVAILABLE',
  message: 'The rate limiter is unavailable. Try again in 1 second.',
  retryAfter: 1,
});

/** How a request is answered that nobody could decide about, where the rule for that is to deny. */
export function unavailable(verdict: Verdict, hasHandler: boolean): Denial {
  return {
    action: 'deny',
    verdict,
    headers: UNAVAILABLE_HEADERS,
    status: 503,
    body: hasHandler ? undefined : UNAVAILABLE_BODY,
  };
}

/**
 * How a request over its limit is answered: with the headers that any counted response gets, those of a denial, and a
 * body about the decisions that the client may see.
 */
export function* overLimit<Request>(
  verdict: Verdict,
  shown: readonly PolicyDecision[],
  headers: readonly Header[],
  request: Request,
  options: HttpLimiterOptions<Request, AnyFunction>,
): Steps<Denial> {
  const retryAfter = retryAfterSeconds(verdict.retryAfterMs);
  return {
    action: 'deny',
    verdict,
    headers:
      retryAfter === undefined
        ? [...headers, NO_STORE]
        : [...headers, ['Retry-After', String(retryAfter)], NO_STORE],
    status: options.statusCode ?? 429,
    body:
      options.handler === undefined
        ? yield* bodyOf(verdict, shown, retryAfter, request, options)
        : undefined,
  };
}

function* bodyOf<Request>(
  verdict: Verdict,
  shown: readonly PolicyDecision[],
  retryAfter: number | undefined,
  request: Request,
  { message }: HttpLimiterOptions<Request, AnyFunction>,
): Steps<JsonBody> {
  const { tightest } = verdict;
  return jsonBody({
    code: 'RATE_LIMITED',
    message:
      message === undefined
        ? defaultMessage(retryAfter)
        : readText(yield* wait(message(verdict, request))),
    retryAfter: retryAfter ?? null,
    resetAt: resetSeconds(tightest.atMs, tightest.retryAfterMs) ?? null,
    policy: tightest.policy,
    ...(shown.length > 1 && { limits: limitsOf(shown) }),
  });
}

function readText(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  const expectation = 'a function that answers a text';
  throw invalid('FLOODGATE_INVALID_OPTION', 'message', expectation, answer);
}

/** A policy may have any name, `__proto__` included. */
function limitsOf(shown: readonly PolicyDecision[]): NonNullable<DenialError['limits']> {
  return Object.fromEntries(
    shown.map(({ policy, limit, remaining }) => [policy, { limit, remaining }]),
  );
}
