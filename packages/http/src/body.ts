/** A body as it is sent. */
export interface JsonBody {
  readonly contentType: string;
  readonly text: string;
}

/** The error in the body of a denial. Its fields are written in this order. */
export interface DenialError {
  readonly code: 'RATE_LIMITED' | 'RATE_LIMITER_UNAVAILABLE';
  readonly message: string;
  /** As `Retry-After` says: whole seconds; null where no wait would help. */
  readonly retryAfter: number | null;
  /** As `X-RateLimit-Reset` says: whole seconds since 1970; null where no wait would help. */
  readonly resetAt?: number | null;
  /** The policy that denied; of several, the one with the longest wait. */
  readonly policy?: string;
  /** What each policy has left, where there are several. */
  readonly limits?: Readonly<
    Record<string, { readonly limit: number; readonly remaining: number }>
  >;
}

export function jsonBody(error: DenialError): JsonBody {
  return { contentType: 'application/json; charset=utf-8', text: JSON.stringify({ error }) };
}

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
