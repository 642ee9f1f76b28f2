import { createRequire } from 'node:module';
import { rateLimit } from '@floodgate/fastify';
import fastify, { type FastifyInstance, type FastifyPluginCallback } from 'fastify';
import { limitFor, type Outcome } from '../decisions/subject.ts';
import { makeFloor, WINDOW_S } from './floor.ts';
import type { MakeListener, Servers } from './servers.ts';

/** Without its types: both plugins declare the same members of Fastify's. */
const theirs: FastifyPluginCallback<{ readonly max: number; readonly timeWindow: number }> =
  createRequire(import.meta.url)('@fastify/rate-limit');

export const fastifyServers: Servers = {
  bare: behind(async (app, outcome) => {
    if (outcome === 'admitted') return;
    app.addHook('onRequest', (_request, reply) => {
      reply.code(429).send('Too many requests');
    });
  }),
  floor: behind(async (app, outcome) => {
    const decide = makeFloor(outcome);
    app.addHook('onRequest', (request, reply, done) => {
      const { allowed, limit, remaining, reset, retryAfter } = decide(request.ip);
      reply.header('x-ratelimit-limit', limit);
      reply.header('x-ratelimit-remaining', remaining);
      reply.header('x-ratelimit-reset', reset);
      if (allowed) done();
      else reply.code(429).header('retry-after', retryAfter).send('Too many requests');
    });
  }),
  '@floodgate/fastify': behind(async (app, outcome) => {
    await app.register(rateLimit, { limit: limitFor(outcome), window: `${WINDOW_S}s` });
  }),
  '@fastify/rate-limit': behind(async (app, outcome) => {
    await app.register(theirs, { max: limitFor(outcome), timeWindow: WINDOW_S * 1000 });
  }),
};

function behind(limit: (app: FastifyInstance, outcome: Outcome) => Promise<void>): MakeListener {
  return async (outcome) => {
    const app = fastify();
    await limit(app, outcome);
    app.get('/', async () => ({ ok: true }));
    await app.ready();
    return app.routing;
  };
}
