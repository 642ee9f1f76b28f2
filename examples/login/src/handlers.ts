import type { RequestHandler } from 'express';
import { type Accounts, isPassword } from './accounts.ts';
import type { Credentials } from './credentials.ts';
import { sendError } from './errors.ts';

/** Knows nothing of limits: they go by its status. */
export function answerSignIn(accounts: Accounts): RequestHandler {
  return async ({ body }, response) => {
    const { email, password } = body as Credentials;
    if (await isPassword(password, await accounts.find(email))) {
      // A real server sets a cookie here.
      response.json({ email });
    } else {
      // The same where there is no such account: it is nobody's business who has one.
      sendError(response, 401, 'WRONG_PASSWORD', 'The e-mail or the password is wrong.');
    }
  };
}
