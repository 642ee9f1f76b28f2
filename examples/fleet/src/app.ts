import { rateLimit, type Store } from '@floodgate/express';
import express, { type Express } from 'express';

/** Never more than thirty in any minute, whenever that begins. */
export const perClient = { name: 'per-client', quota: 'sliding-window-log 30/1m' } as const;

export interface AppOptions {
  /** Which process of the fleet this is: in `X-Process`, on each answer. */
  readonly name: string;
  readonly store: Store;
}

/** The app that each process of the fleet runs. */
export function createApp({ name, store }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  // The balancer, which is the only one that can reach us: what it wrote is believed, and nothing that a client wrote.
  app.set('trust proxy', 1);
  app.use((_request, response, next) => {
    response.set('X-Process', name);
    next();
  });
  app.use(rateLimit({ ...perClient, store }));
  app.get('/', (_request, response) => void response.send(`Hello from process ${name}\n`));
  return app;
}
