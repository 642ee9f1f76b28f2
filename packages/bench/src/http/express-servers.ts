import { rateLimit } from '@floodgate/express';
import express, { type Express } from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import express4 from 'express4';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { limitFor, type Outcome } from '../decisions/subject.ts';
import { makeFloor, WINDOW_S } from './floor.ts';
import type { Servers } from './servers.ts';

export const express5Servers: Servers = serversOf(express);
export const express4Servers: Servers = serversOf(express4 as unknown as typeof express);

function serversOf(makeApp: typeof express): Servers {
  const behind = (limit: (app: Express, outcome: Outcome) => void) => (outcome: Outcome) => {
    const app = makeApp();
    limit(app, outcome);
    app.get('/', (_, response) => void response.json({ ok: true }));
    return app;
  };
  return {
    bare: behind(bare),
    floor: behind(floor),
    '@floodgate/express': behind((app, outcome) => {
      app.use(rateLimit({ limit: limitFor(outcome), window: `${WINDOW_S}s` }));
    }),
    'express-rate-limit': behind((app, outcome) => {
      app.use(expressRateLimit({ limit: limitFor(outcome), windowMs: WINDOW_S * 1000 }));
    }),
    'rate-limiter-flexible, by hand': behind(flexible),
  };
}

/** Nothing; for a denial, what nobody can leave out: its status and a body. */
function bare(app: Express, outcome: Outcome): void {
  if (outcome === 'admitted') return;
  app.use((_, response) => {
    response.statusCode = 429;
    response.end('Too many requests');
  });
}

function floor(app: Express, outcome: Outcome): void {
  const decide = makeFloor(outcome);
  app.use((request, response, next) => {
    const { allowed, limit, remaining, reset, retryAfter } = decide(request.ip as string);
    response.setHeader('X-RateLimit-Limit', limit);
    response.setHeader('X-RateLimit-Remaining', remaining);
    response.setHeader('X-RateLimit-Reset', reset);
    if (allowed) {
      next();
      return;
    }
    response.statusCode = 429;
    response.setHeader('Retry-After', retryAfter);
    response.setHeader('Content-Type', 'text/plain');
    response.end('Too many requests');
  });
}

/** As its documentation shows it. */
function flexible(app: Express, outcome: Outcome): void {
  const points = limitFor(outcome);
  const limiter = new RateLimiterMemory({ points, duration: WINDOW_S });
  app.use((request, response, next) => {
    const headers = ({ remainingPoints, msBeforeNext }: RateLimiterRes): void => {
      response.setHeader('X-RateLimit-Limit', points);
      response.setHeader('X-RateLimit-Remaining', remainingPoints);
      response.setHeader('X-RateLimit-Reset', Math.ceil((Date.now() + msBeforeNext) / 1000));
    };
    limiter.consume(request.ip as string).then(
      (result) => {
        headers(result);
        next();
      },
      (denial: RateLimiterRes) => {
        headers(denial);
        response.setHeader('Retry-After', Math.ceil(denial.msBeforeNext / 1000));
        response.status(429).send('Too many requests');
      },
    );
  });
}
