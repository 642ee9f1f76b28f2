import {
  byIp,
  type FloodgateEvent,
  MemoryStore,
  type Quota,
  rateLimit,
  type Verdict,
} from '@floodgate/express';
import express, { type Express } from 'express';
import type { LogClock } from './log-clock.ts';

export interface AppOptions {
  readonly quota: Quota;
  readonly clock: LogClock;
  /** How many leading bits of an IPv6 address are one client. */
  readonly ipv6Prefix: number;
  readonly onVerdict: (verdict: Verdict) => void;
  readonly onEvent: (event: FloodgateEvent) => void;
}

/** A real application, with one limit, that has nothing else to do. */
export function createApp({ quota, clock, ipv6Prefix, onVerdict, onEvent }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(
    rateLimit({
      quota,
      key: byIp({ ipv6Prefix }),
      store: new MemoryStore({ clock }),
      // A log does not tell a preflight from another OPTIONS request: each line counts.
      countPreflight: true,
      onVerdict,
      onEvent,
    }),
  );
  app.use((_request, response) => {
    response.status(204).end();
  });
  return app;
}
