import { rateLimit } from '@floodgate/express';
import type { Express } from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { limitFor, type Outcome } from '../decisions/subject.ts';

const WINDOW_S = 1_000_000;

/** How each limiter is put before an app's routes. */
export const limiters: Readonly<Record<LimiterName, (app: Express, outcome: Outcome) => void>> = {
  bare,
  floor: byHand,
  '@floodgate/express': (app, outcome) => {
    app.use(rateLimit({ limit: limitFor(outcome), window: `${WINDOW_S}s` }));
  },
  'express-rate-limit': (app, outcome) => {
    app.use(expressRateLimit({ limit: limitFor(outcome), windowMs: WINDOW_S * 1000 }));
  },
  'rate-limiter-flexible, by hand': flexible,
};

export type LimiterName =
  | 'bare'
  | 'floor'
  | '@floodgate/express'
  | 'express-rate-limit'
  | 'rate-limiter-flexible, by hand';

/** Nothing; for a denial, what nobody can leave out: its status and a body. */
function bare(app: Express, outcome: Outcome): void {
  if (outcome === 'admitted') return;
  app.use((_, response) => {
    response.statusCode = 429;
    response.end('Too many requests');
  });
}

/** The least that tells a client what it should know: a bucket and three headers, and for a denial a ready body. */
function byHand(app: Express, outcome: Outcome): void {
  const limit = limitFor(outcome);
  const tokensPerMs = limit / (WINDOW_S * 1000);
  const slots = new Map<string, number>();
  const state = new Float64Array(2000);
  app.use((request, response, next) => {
    const nowMs = Date.now();
    const key = request.ip as string;
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = slots.size * 2;
      slots.set(key, slot);
    }
    const sinceMs = state[slot + 1] as number;
    const before = Math.max(0, (state[slot] as number) - (nowMs - sinceMs) * tokensPerMs);
    const allowed = before + 1 <= limit;
    const used = allowed ? before + 1 : before;
    if (allowed) {
      state[slot] = used;
      state[slot + 1] = nowMs;
    }
    response.setHeader('X-RateLimit-Limit', limit);
    response.setHeader('X-RateLimit-Remaining', Math.floor(limit - used));
    response.setHeader('X-RateLimit-Reset', Math.ceil((nowMs + used / tokensPerMs) / 1000));
    if (allowed) {
      next();
      return;
    }
    const waitMs = (before + 1 - limit) / tokensPerMs;
    response.statusCode = 429;
    response.setHeader('Retry-After', Math.ceil(waitMs / 1000));
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
