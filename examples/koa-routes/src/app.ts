import {
  MemoryStore,
  type MemoryStoreOptions,
  type PolicyOptions,
  type RateLimitMiddleware,
  rateLimit,
} from '@floodgate/koa';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { cors } from './cors.ts';
import { everythingElse, search, signIn, uploads } from './limits.ts';
import {
  answerIndex,
  answerRateLimit,
  answerSearch,
  answerSignIn,
  answerUpload,
} from './routes.ts';

export interface AppOptions {
  /** What the limits count by. @default the system's */
  readonly clock?: NonNullable<MemoryStoreOptions['clock']>;
}

/** A small API, each route of it with the limit that it needs, by the address of whoever asks. */
export function createApp({ clock }: AppOptions = {}): Koa {
  const store = new MemoryStore(clock && { clock });
  const limit = (policy: PolicyOptions<Context>): RateLimitMiddleware =>
    rateLimit({ policies: [policy], store, exposeHeaders: true });

  const router = new Router();
  // The limit comes first, so that what is denied costs no query and no reading.
  router.post('/sign-in', limit(signIn), answerSignIn);
  router.get('/search', limit(search), answerSearch);
  router.post('/uploads', limit(uploads), answerUpload);
  // Not limited: who has nothing left may still ask.
  router.get('/rate_limit', answerRateLimit(store));

  const others = new Router();
  others.get('/', answerIndex);

  const app = new Koa();
  // Before all limits, so that a script may read why it was denied.
  app.use(cors);
  // What is answered here comes no further, and so meets one limit.
  app.use(router.routes());
  app.use(limit(everythingElse));
  app.use(others.routes()).use(others.allowedMethods());
  return app;
}
