import type { AnyRequest, Event, Expected, Limiter, Sent } from './scenario.ts';

// The words in which scenarios are written. Times in seconds count from now, or from noon where they become a date.

/** When scenarios begin, a whole minute and hour: 1771416000 seconds since 1970. */
export const NOON = '2026-02-18T12:00:00Z';
const NOON_S = 1_771_416_000;

export const advance = (advanceMs: number): Event => ({ advanceMs });
export const storeFails: Event = { store: 'fails' };
export const storeRecovers: Event = { store: 'recovers' };

type Headers = Readonly<Record<string, string>>;

export const get = (path: string, headers: Headers = {}): Sent => ({
  method: 'GET',
  path,
  headers,
});

export const head = (path: string): Sent => ({ method: 'HEAD', path });

export const post = (path: string, body: string, headers: Headers = {}): Sent => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'text/plain', ...headers },
  body,
});

export const options = (path: string, headers: Headers = {}): Sent => ({
  method: 'OPTIONS',
  path,
  headers,
});

/** A request that came through proxies. */
export const via = (forwardedFor: string, path = '/key'): Sent =>
  get(path, { 'x-forwarded-for': forwardedFor });

/** What a browser asks before a request to another origin. */
export const preflight: Sent = options('/hello', {
  origin: 'https://app.example',
  'access-control-request-method': 'GET',
});

/** `X-RateLimit-*`; its reset is `resetS` after noon, or absent. */
export function legacy(limit: number, remaining: number, resetS?: number): Headers {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    ...(resetS !== undefined && { 'x-ratelimit-reset': String(NOON_S + resetS) }),
  };
}

export function draft6(limit: number, remaining: number, reset: number, policy: string): Headers {
  return {
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(reset),
    'ratelimit-policy': policy,
  };
}

/** The two fields of drafts 7 and later. */
export function fields(policy: string, limits: string): Headers {
  return { 'ratelimit-policy': policy, ratelimit: limits };
}

export function answered(status: number, headers: Headers = {}, body?: string): Expected {
  return { status, headers, ...(body !== undefined && { body }) };
}

/** A 200. */
export const served = (headers: Headers = {}, body?: string): Expected =>
  answered(200, headers, body);

/** A denial with any body; the client may come again after `waitS`, or never. */
export function denied(waitS: number | undefined, headers: Headers, status = 429): Expected {
  const denial = {
    ...headers,
    ...(waitS !== undefined && { 'retry-after': String(waitS) }),
    'cache-control': 'no-store',
  };
  return { status, headers: denial };
}

/** A denial with a body of the kind `problem`. */
export const withProblem = (expected: Expected, body: string): Expected => ({
  ...expected,
  type: 'application/problem+json',
  body,
});

export const withJson = (expected: Expected, body: string): Expected => ({
  ...expected,
  type: 'application/json; charset=utf-8',
  body,
});

/** What the body of a denial says beside its wait. */
export interface Said {
  /** When to try again, where its message is `Rate limit exceeded. Try again in <again>.` */
  readonly again?: string;
  /** Any other message. */
  readonly message?: string;
  /** The date of its `resetAt`, after noon. */
  readonly resetS: number | undefined;
  readonly policy?: string;
  /** As JSON. */
  readonly limits?: string;
}

/** A denial with a body of the kind `json`. */
export function limited(waitS: number | undefined, headers: Headers, said: Said): Expected {
  const { again, resetS, policy = 'default', limits } = said;
  const { message = `Rate limit exceeded. Try again in ${again}.` } = said;
  const resetAt = resetS === undefined ? null : NOON_S + resetS;
  return withJson(
    denied(waitS, headers),
    `{"error":{"code":"RATE_LIMITED","message":"${message}","retryAfter":${waitS ?? null},` +
      `"resetAt":${resetAt},"policy":"${policy}"${limits === undefined ? '' : `,"limits":${limits}`}}}`,
  );
}

/** Three a minute, by windows that follow the clock, for each address. */
export const THREE: Limiter = { options: { quota: 'fixed-window 3/1m' } };
/** The body of a denial in the first second of a minute. */
export const IN_A_MINUTE: Said = { again: '1 minute', resetS: 60 };
/** The body of a denial for good. */
export const NEVER: Said = {
  message: 'Rate limit exceeded. This request costs more than its limit ever allows.',
  resetS: undefined,
};

/** A cost that a header says, or 1. */
export const costOf =
  (header: string): ((request: AnyRequest) => number) =>
  ({ headers }) =>
    Number(headers[header] ?? 1);

/** Who a header says that it is. */
export const userOf = ({ headers }: AnyRequest): string | undefined => headers['x-user'] as string;
