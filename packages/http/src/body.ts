import type { PolicyDecision } from '@floodgate/core';
import { invalid } from '@floodgate/core/internal';

/** A body as it is sent. */
export interface Body {
  readonly contentType: string;
  readonly content: string | Buffer;
}

/** What the body of a denial tells. */
export interface Refusal {
  readonly status: number;
  /** As `Retry-After` says: whole seconds; undefined where no wait would help. */
  readonly retryAfter: number | undefined;
  /** As `X-RateLimit-Reset` says: whole seconds since 1970; undefined where no wait would help. */
  readonly resetAt: number | undefined;
  /** The policy that denied, of several the one with the longest wait; undefined where only hidden ones did. */
  readonly policy: string | undefined;
  /** All policies that denied and are not hidden. */
  readonly violated: readonly string[];
  /** All policies that the client may know of, told where there are several. */
  readonly shown: readonly PolicyDecision[];
}

/** The client's plan, and where to get a larger one if that would help. */
export interface ToldPlan {
  readonly name: string;
  readonly upgradeUrl: string | undefined;
}

/** The body of a denial. Put together by hand, since under a flood it is most of the work. */
export function rateLimited(
  { retryAfter, resetAt, policy, shown }: Refusal,
  message: string,
  plan?: ToldPlan,
): Body {
  const name = policy === undefined ? '' : `,"policy":${JSON.stringify(policy)}`;
  const limits = shown.length > 1 ? `,"limits":${JSON.stringify(limitsOf(shown))}` : '';
  return json(
    `{"error":{"code":"RATE_LIMITED","message":${JSON.stringify(message)},` +
      `"retryAfter":${retryAfter ?? null},"resetAt":${resetAt ?? null}${name}${limits}${planText(plan)}}}`,
  );
}

function planText(plan: ToldPlan | undefined): string {
  if (plan === undefined) return '';
  const { name, upgradeUrl } = plan;
  const url = upgradeUrl === undefined ? '' : `,"upgradeUrl":${JSON.stringify(upgradeUrl)}`;
  return `,"plan":${JSON.stringify(name)}${url}`;
}

/** The body of a denial that the store's failure is the reason for. */
export const UNAVAILABLE: Body = json(
  JSON.stringify({
    error: {
      code: 'RATE_LIMITER_UNAVAILABLE',
      message: 'The rate limiter is unavailable. Try again in 1 second.',
      retryAfter: 1,
    },
  }),
);

/**
 * The body of a denial as RFC 9457 has it, with the types that the RateLimit draft registers. `detail` is the user's
 * own message: the draft's members say all that the default one does.
 */
export function problem({ status, violated }: Refusal, detail: string | undefined): Body {
  return problemJson(
    status,
    violated,
    detail === undefined ? '' : `"detail":${JSON.stringify(detail)},`,
    '',
  );
}

export const UNAVAILABLE_PROBLEM: Body = problemJson(
  503,
  [],
  '',
  ',"code":"RATE_LIMITER_UNAVAILABLE"',
);

function problemJson(
  status: number,
  violated: readonly string[],
  detail: string,
  code: string,
): Body {
  const [type, title] =
    status === 503
      ? ['temporary-reduced-capacity', 'Temporary Reduced Capacity']
      : ['quota-exceeded', 'Quota Exceeded'];
  const content =
    `{"type":"https://iana.org/assignments/http-problem-types#${type}","title":"${title}",` +
    `"status":${status},${detail}"violated-policies":${JSON.stringify(violated)}${code}}`;
  return { contentType: 'application/problem+json', content };
}

/**
 * What a `body` function answered, as it is sent: a text, bytes, or a value as JSON; undefined for no body.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` for what JSON cannot hold
 */
export function bodyOf(answer: unknown): Body | undefined {
  if (answer === undefined || answer === null) return undefined;
  if (typeof answer === 'string') {
    return { contentType: 'text/plain; charset=utf-8', content: answer };
  }
  if (answer instanceof Uint8Array) {
    const content = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
    return { contentType: 'application/octet-stream', content };
  }
  const text = jsonText(answer);
  if (text !== undefined) return json(text);
  const expectation = 'a function that answers a text, bytes or a value that JSON can hold';
  throw invalid('FLOODGATE_INVALID_OPTION', 'body', expectation, answer);
}

/** What a denial says where there is no `message` option. The time told is never shorter than the wait. */
export function defaultMessage({
  retryAfter,
  policy,
}: Pick<Refusal, 'retryAfter' | 'policy'>): string {
  const said = policy === undefined ? 'Too many requests at this time.' : 'Rate limit exceeded.';
  return retryAfter === undefined
    ? `${said} This request costs more than its limit ever allows.`
    : `${said} Try again in ${inWords(retryAfter)}.`;
}

function inWords(seconds: number): string {
  if (seconds < 60) return plural(seconds, 'second');
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? plural(minutes, 'minute') : plural(Math.ceil(seconds / 3600), 'hour');
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function json(content: string): Body {
  return { contentType: 'application/json; charset=utf-8', content };
}

function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** A policy may have any name, `__proto__` included. */
function limitsOf(shown: readonly PolicyDecision[]): object {
  return Object.fromEntries(
    shown.map(({ policy, limit, remaining }) => [policy, { limit, remaining }]),
  );
}
