import { MemoryStore, rateLimit, type Store } from '@floodgate/express';
import express, { type Express } from 'express';
import { type Accounts, demoAccounts } from './accounts.ts';
import { readCredentials } from './credentials.ts';
import { answerError, answerNotFound } from './errors.ts';
import { answerSignIn } from './handlers.ts';
import { limits } from './limits.ts';

export interface AppOptions {
  /** Where counts live, and whose clock counts. @default the app's own memory, by the system's clock */
  readonly store?: Store;
  /** @default those of one user, to try with */
  readonly accounts?: Accounts;
}

/** A server that one can sign in to, and that limits how often this may fail. */
export function createApp({
  store = new MemoryStore(),
  accounts = demoAccounts(),
}: AppOptions = {}): Express {
  const app = express();
  app.disable('x-powered-by');

  app.post(
    '/sign-in',
    // Before the limits, which go by the e-mail: so what is denied was read, and there must not be much to read.
    express.json({ limit: '1kb' }),
    readCredentials,
    // Before the password is looked at, so that what is denied costs no look-up and no hashing.
    rateLimit({ ...limits, store }),
    answerSignIn(accounts),
  );
  app.use(answerNotFound);
  app.use(answerError);
  return app;
}
