import type { NextFunction, Request, Response } from 'express';
import { sendError } from './errors.ts';

/** What a sign-in comes with. */
export interface Credentials {
  /** As accounts are looked up by. */
  readonly email: string;
  readonly password: string;
}

/**
 * Makes the body of a request {@link Credentials}. Answers one that holds none: it runs before the limits, since what
 * guesses nothing needs no limit on guesses, and costs no more than its reading.
 */
export function readCredentials(request: Request, response: Response, next: NextFunction): void {
  const { email, password } = (request.body ?? {}) as Record<string, unknown>;
  const normalised = typeof email === 'string' ? normalise(email) : '';
  if (isEmail(normalised) && typeof password === 'string' && password !== '') {
    request.body = { email: normalised, password } satisfies Credentials;
    next();
  } else {
    sendError(response, 400, 'NO_CREDENTIALS', 'Expected an e-mail and a password.');
  }
}

/**
 * All ways to write an e-mail that lead to one account, as one text. The limits go by it, and the account is looked up
 * by it: if `ADA@example.com` were another key than `ada@example.com` but the same account, each way to write it would
 * have five guesses of its own.
 */
function normalise(email: string): string {
  return email.trim().toLowerCase().normalize();
}

/** No address is longer. */
const LONGEST_EMAIL = 254;

function isEmail(text: string): boolean {
  return text.length <= LONGEST_EMAIL && /^[^@\s]+@[^@\s]+$/.test(text);
}
