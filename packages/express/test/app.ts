import type express from 'express';
import type { Express } from 'express';
import { type RateLimitOptions, rateLimit } from '../src/index.ts';
import { tellErrors } from './errors.ts';

/** The options of a limiter, without a limit where the app's own will do. */
export type AppOptions = Partial<RateLimitOptions>;

/** An app with a few routes, all under one limit: three a minute, by fixed windows, unless options say otherwise. */
export function limitedApp(make: typeof express, options: AppOptions): Express {
  const app = make();
  const quota = 'policies' in options ? {} : { quota: 'fixed-window 3/1m' };
  app.use(rateLimit({ ...quota, ...options } as RateLimitOptions));
  app.get('/', (_, response) => void response.json({ ok: true }));
  app.get('/text', (_, response) => void response.send('plain'));
  app.get('/stream', (_, response) => {
    response.write('a');
    response.end('b');
  });
  app.get('/cached', (_, response) => {
    response.set('Cache-Control', 'public, max-age=60').send('cached');
  });
  app.get('/fails', () => {
    throw new Error('The handler failed');
  });
  app.use(tellErrors());
  return app;
}

/** `X-RateLimit-Limit`, `-Remaining`, `-Reset`, `Retry-After` and `Cache-Control`. */
export function rateHeaders(headers: Record<string, string>): (string | undefined)[] {
  return [
    headers['x-ratelimit-limit'],
    headers['x-ratelimit-remaining'],
    headers['x-ratelimit-reset'],
    headers['retry-after'],
    headers['cache-control'],
  ];
}
