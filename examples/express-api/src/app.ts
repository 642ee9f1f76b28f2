import { MemoryStore, type Store } from '@floodgate/express';
import express, { type Express } from 'express';
import { decisionLine } from './decision-line.ts';
import {
  answerEmail,
  answerError,
  answerIndex,
  answerNotFound,
  answerRateLimit,
  answerSearch,
  answerSignIn,
  answerUpload,
} from './handlers.ts';
import { email, everythingElse, limitsOn, search, signIn, uploads } from './limits.ts';

export interface AppOptions {
  /** Where counts live, and whose clock counts. @default the app's own memory, by the system's clock */
  readonly store?: Store;
  /** Gets a line for each request that met a limit. @default nothing */
  readonly log?: (line: string) => void;
}

/** A small API, each part of it with the limit that it needs. */
export function createApp({ store = new MemoryStore(), log = () => {} }: AppOptions = {}): Express {
  const limit = limitsOn(store, (verdict, request) => log(decisionLine(verdict, request)));
  const app = express();
  app.disable('x-powered-by');

  // The limit comes first, so that what is denied costs no parsing, no query and no sending.
  app.post('/sign-in', limit(signIn), express.json(), answerSignIn);
  app.get('/search', limit(search), answerSearch);
  app.post('/emails', limit(email), express.json(), answerEmail);
  app.post('/uploads', limit(uploads), answerUpload);
  // Not limited: who has nothing left may still ask, and the answer is only some arithmetic.
  app.get('/rate_limit', answerRateLimit(store));

  app.use(limit(everythingElse));
  app.get('/', answerIndex);
  app.use(answerNotFound);
  app.use(answerError);
  return app;
}
