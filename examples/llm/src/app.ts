import { setTimeout } from 'node:timers/promises';
import { byApiKey, keys, MemoryStore, rateLimit, type Store } from '@floodgate/fastify';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { streamedBy, wholeBy } from './handlers.ts';
import { policies } from './limits.ts';
import { fakeModel } from './model.ts';
import { promptSchema } from './prompt.ts';

export interface AppOptions {
  /** Where counts live. The model goes by its clock, too. @default the app's own memory, by the system's clock */
  readonly store?: Store;
  /** @default false */
  readonly logger?: NonNullable<FastifyServerOptions['logger']>;
}

/** Whoever wants to try. A real server knows only hashes of its keys. */
const DEMO_KEYS = ['ada', 'bob'];

/** A language model behind two limits for each API key: so many requests, and so many tokens, a minute. */
export async function createApp({
  store = new MemoryStore(),
  logger = false,
}: AppOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ logger });
  const { clock } = store;
  const model = fakeModel((ms, signal) =>
    clock?.sleep === undefined ? setTimeout(ms, undefined, { signal }) : clock.sleep(ms, signal),
  );

  app.addHook('onRequest', async ({ headers }, reply) => {
    if (DEMO_KEYS.includes(String(headers['x-api-key']))) return;
    return reply.code(401).send({ error: 'Expected an X-API-Key: ada or bob' });
  });
  app.decorateRequest('usage', undefined);

  // Of this context, and not of what is not found: nobody could say what that costs.
  await app.register(async (limited) => {
    await limited.register(rateLimit, {
      policies,
      key: byApiKey(),
      store,
      headers: 'draft-8',
      // When the body has been read and checked: it says what a request may cost.
      hook: 'preHandler',
      onVerdict: ({ allowed, tightest, retryAfterMs }, { log }) => {
        const { policy, key, cost } = tightest;
        if (!allowed) log.warn({ policy, key, cost, retryAfterMs }, 'denied');
      },
    });
    limited.post('/answers', { schema: promptSchema }, wholeBy(model));
    limited.post('/answers/stream', { schema: promptSchema }, streamedBy(model));

    // Asking uses nothing.
    limited.get('/rate_limit', { config: { rateLimit: false } }, async ({ headers }, reply) => {
      const key = keys.apiKey(String(headers['x-api-key']));
      const { decisions } = await limited.rateLimit.peek(key, { cost: 0 });
      const left = decisions.map(({ policy, remaining }) => [policy, remaining]);
      return reply.header('Cache-Control', 'no-store').send({ left: Object.fromEntries(left) });
    });
  });
  return app;
}
