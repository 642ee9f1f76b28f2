import { byIp, combine, onlyFailures, type RateLimitOptions } from '@floodgate/express';
import type { Request } from 'express';
import type { Credentials } from './credentials.ts';

/**
 * All of the limits. They are on failures.
 *
 * Each attempt reserves a unit of both before the password is looked at, so that of guesses sent at once no more get
 * that far than one after the other would. When it is answered, `settle` gives the unit back unless it failed, and the
 * failure that fills a limit starts its block. A denial starts none.
 */
export const limits: RateLimitOptions = {
  // From one address, at one account. By the e-mail alone, anyone who knows it could keep its owner out, with five
  // guesses every 15 minutes. By the address alone, one person in an office who has forgotten a password would keep out
  // all the others. A request without an e-mail does not come this far: it guesses nothing, and is answered 400.
  key: combine<Request>(byIp(), ({ body }) => (body as Credentials).email),
  // A failure is a status from 400 to 499: here 401. What goes away before it is answered counts as well, and what
  // fails by our own fault, with a 500, does not.
  settle: onlyFailures(),
  policies: [
    // By a log, which never admits more than its limit in any span.
    { name: 'sign-in', quota: 'sliding-window-log 5/15m block=15m' },
    // For who comes back after each of these blocks: else it would be 480 guesses a day.
    { name: 'sign-in-day', quota: 'sliding-window-log 20/1d block=1d' },
  ],
};
