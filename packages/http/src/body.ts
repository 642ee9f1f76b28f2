import type { PolicyDecision } from '@floodgate/core';

/** A body as it is sent. */
export interface JsonBody {
  readonly contentType: string;
  readonly text: string;
}

/** What the body of a denial tells. */
export interface Refusal {
  readonly message: string;
  /** As `Retry-After` says: whole seconds; undefined where no wait would help. */
  readonly retryAfter: number | undefined;
  /** As `X-RateLimit-Reset` says: whole seconds since 1970; undefined where no wait would help. */
  readonly resetAt: number | undefined;
  /** The policy that denied; of several, the one with the longest wait. */
  readonly policy: string;
  /** All policies that the client may know of, told where there are several. */
  readonly shown: readonly PolicyDecision[];
}

/** The body of a denial. Put together by hand, since under a flood it is most of the work. */
export function rateLimited({ message, retryAfter, resetAt, policy, shown }: Refusal): JsonBody {
  const limits = shown.length > 1 ? `,"limits":${JSON.stringify(limitsOf(shown))}` : '';
  return json(
    `{"error":{"code":"RATE_LIMITED","message":${JSON.stringify(message)},` +
      `"retryAfter":${retryAfter ?? null},"resetAt":${resetAt ?? null},` +
      `"policy":${JSON.stringify(policy)}${limits}}}`,
  );
}

/** The body of a denial that the store's failure is the reason for. */
export const UNAVAILABLE: JsonBody = json(
  JSON.stringify({
    error: {
      code: 'RATE_LIMITER_UNAVAILABLE',
      message: 'The rate limiter is unavailable. Try again in 1 second.',
      retryAfter: 1,
    },
  }),
);

/** What a denial says where there is no `message` option. The time told is never shorter than the wait. */
export function defaultMessage(retryAfter: number | undefined): string {
  return retryAfter === undefined
    ? 'Rate limit exceeded. This request costs more than its limit ever allows.'
    : `Rate limit exceeded. Try again in ${inWords(retryAfter)}.`;
}

function inWords(seconds: number): string {
  if (seconds < 60) return plural(seconds, 'second');
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? plural(minutes, 'minute') : plural(Math.ceil(seconds / 3600), 'hour');
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function json(text: string): JsonBody {
  return { contentType: 'application/json; charset=utf-8', text };
}

/** A policy may have any name, `__proto__` included. */
function limitsOf(shown: readonly PolicyDecision[]): object {
  return Object.fromEntries(
    shown.map(({ policy, limit, remaining }) => [policy, { limit, remaining }]),
  );
}
