import {
  HttpLimiter,
  keys,
  MemoryStore,
  type MemoryStoreOptions,
  rateLimit,
} from '@floodgate/fastify';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { answerSignIn, answerUpload, findDrinks, signInSchema } from './handlers.ts';
import { allLimits, everything, search, signIn, uploads } from './limits.ts';

/** A small API: a limit for all of it, and more for the parts that need one. They count by the clock, or the system's. */
export async function createApp(
  options: FastifyServerOptions = {},
  clock?: MemoryStoreOptions['clock'],
): Promise<FastifyInstance> {
  const app = Fastify(options);
  const store = new MemoryStore(clock && { clock });

  // Before the limiter, so that a script of another origin can read a denial, too.
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('Access-Control-Allow-Origin', '*');
  });
  await app.register(rateLimit, {
    ...everything,
    store,
    exposeHeaders: true,
    onVerdict: ({ allowed, tightest, retryAfterMs }, { log }) => {
      const { policy, key } = tightest;
      if (!allowed) log.warn({ policy, key, retryAfterMs }, 'denied');
    },
  });

  app.post('/sign-in', { config: { rateLimit: signIn }, schema: signInSchema }, answerSignIn);
  app.get('/search', { config: { rateLimit: search } }, findDrinks);
  // Left to the handler to read, whatever it is.
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  app.post('/uploads', { config: { rateLimit: uploads } }, answerUpload);

  // A load balancer that asks too often is no reason to take the server out.
  app.get('/health', { config: { rateLimit: false } }, () => ({ ok: true }));

  // Who has nothing left may still ask, and asking uses nothing.
  const limiter = new HttpLimiter({ policies: allLimits, store });
  app.get('/rate_limit', { config: { rateLimit: false } }, async ({ ip }, reply) => {
    const { decisions } = await limiter.peek(keys.ip(ip), { cost: 0 });
    const limits = decisions.map(({ policy, limit, remaining, resetAtMs }) => [
      policy,
      { limit, remaining, resetAt: Math.ceil(resetAtMs / 1000) },
    ]);
    return reply.header('Cache-Control', 'no-store').send({ limits: Object.fromEntries(limits) });
  });
  return app;
}
