import type { Verdict } from '@floodgate/express';
import type { Request } from 'express';

/**
 * What was decided about a request, on one line: when, what for, whose, by which policy (of several the tightest),
 * what is left, and how long to wait: for one's turn where it is allowed, for another try where it is denied.
 *
 * @example
 * '2026-01-01T00:00:00.000Z  POST /sign-in  ip:127.0.0.1  sign-in  denied   0 left  wait 41.3 s'
 */
export function decisionLine(verdict: Verdict, request: Request): string {
  const { policy, remaining, atMs } = verdict.tightest;
  // The key of the ceiling, which comes last, is everybody's.
  const client = verdict.decisions[0]?.key;
  const waitMs = verdict.allowed ? verdict.delayMs : verdict.retryAfterMs;
  return [
    new Date(atMs).toISOString(),
    `${request.method} ${printable(request.originalUrl)}`,
    client,
    policy,
    verdict.allowed ? 'allowed' : 'denied ',
    `${remaining} left`,
    // A cost above the limit.
    waitMs === Number.POSITIVE_INFINITY ? 'no wait helps' : `wait ${waitMs / 1000} s`,
  ].join('  ');
}

/** A path is a stranger's text: on a terminal it must not do more than be read. */
function printable(path: string): string {
  return path.slice(0, 100).replace(/[^\x21-\x7e]/g, '?');
}
