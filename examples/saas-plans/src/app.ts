import {
  MemoryStore,
  type RateLimitMiddleware,
  type RateLimitOptions,
  rateLimit,
  type Store,
} from '@floodgate/express';
import express, { type Express } from 'express';
import { type Accounts, MemoryAccounts } from './accounts.ts';
import { answerErrors, answerNotFound } from './answers.ts';
import { customersOnly, operatorOnly } from './authentication.ts';
import { DEMO_USERS } from './demo-users.ts';
import { denialLine, eventLine } from './log-lines.ts';
import { createMetrics } from './metrics.ts';
import { operationsOn } from './operations.ts';
import { limitRoutes, planRoutes } from './operator-routes.ts';
import { customerLimits, refusalLimits } from './plans.ts';

export interface AppOptions {
  /** What the operator's routes ask for. */
  readonly operatorToken: string;
  /** Where counts live, and whose clock counts. @default the app's own memory, by the system's clock */
  readonly store?: Store;
  /** @default the customers to try with */
  readonly accounts?: Accounts;
  /** Gets a line for each denial, for each thing that an operator did or should know. @default nothing */
  readonly log?: (line: string) => void;
}

/** An API with plans for its customers, and routes for its operator. */
export function createApp({
  operatorToken,
  store = new MemoryStore(),
  accounts = new MemoryAccounts(DEMO_USERS),
  log = () => {},
}: AppOptions): Express {
  const metrics = createMetrics(store);
  const limit = (limiter: string, options: RateLimitOptions): RateLimitMiddleware => {
    const count = metrics.hooksOf(limiter);
    return rateLimit({
      ...options,
      store,
      onVerdict(verdict, request) {
        count.onVerdict(verdict, request);
        if (!verdict.allowed) log(denialLine(verdict));
      },
      onEvent(event, request) {
        count.onEvent(event, request);
        log(eventLine(event));
      },
    });
  };
  const customers = limit('customers', customerLimits(accounts));
  const operations = operationsOn(customers, accounts);
  const app = express();
  app.disable('x-powered-by');

  // The operator's, whom no limit of the customers keeps out.
  const wrongTokens = refusalLimits('wrongTokens', 'Too many requests without a valid token.');
  const operator = operatorOnly(operatorToken, limit('refusals', wrongTokens));
  app.get('/metrics', operator, async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.text());
  });
  app.use('/limits', operator, limitRoutes('user', operations, log));
  app.use('/key-limits', operator, limitRoutes('key', operations, log));
  app.use('/users', operator, planRoutes(accounts, log));

  // The customers'. Who they are is known before the limiter asks, and nothing counts for a key that is none.
  const unknownKeys = refusalLimits('unknownKeys', 'Too many requests without a valid API key.');
  const known = customersOnly(accounts, limit('refusals', unknownKeys));
  app.use('/v1', known, customers);
  app.get('/v1/quotes', (_request, response) => {
    response.json({ quotes: ['The most dangerous phrase is: we have always done it this way.'] });
  });

  app.use(answerNotFound);
  app.use(answerErrors(log));
  return app;
}
