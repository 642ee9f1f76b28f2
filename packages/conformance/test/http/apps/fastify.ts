import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { type DenialHandler, rateLimit } from '@floodgate/fastify';
import type { FastifyRequest, FastifyServerOptions, fastify } from 'fastify';
import type { Place, Trust } from '../scenario.ts';
import { answerRaw, boom, brokenStream, EVENTS, forbidden, type SetUp } from './set-up.ts';

const TRUST_PROXY: Readonly<Record<Trust, NonNullable<FastifyServerOptions['trustProxy']>>> = {
  none: false,
  // Fastify 5.12 no longer takes a number's word for it: whoever connects could send so many.
  'one-hop': (_address, hop) => hop < 1,
  loopback: '127.0.0.0/8',
  elsewhere: '10.0.0.0/8',
  all: true,
};

export async function fastifyApp(make: typeof fastify, setUp: SetUp): Promise<RequestListener> {
  const app = make({ trustProxy: TRUST_PROXY[setUp.trust] });
  app.addHook('onRequest', async (_, reply) => {
    reply.headers(setUp.before);
  });

  const { common } = setUp;
  const limiters = setUp.limiters.map(({ on, options, handler }) => ({
    on,
    options: { ...options, ...(handler && { handler: slowDown }) },
  }));
  // The limit of the whole app is the plugin's, one of a single route is added to it in the route's config, and one that
  // several places share is a hook of each.
  const only = (place: Place) => limiters.find(({ on }) => on.length === 1 && on[0] === place);
  await app.register(rateLimit, { ...common, ...(only('app')?.options ?? { global: false }) });
  const shared = limiters
    .filter(({ on }) => on.length > 1)
    .map(({ on, options }) => ({ on, hook: app.rateLimit({ ...common, ...options }) }));
  for (const { on, hook } of shared) if (on.includes('app')) app.addHook('onRequest', hook);
  const limits = (place: Place) => {
    const own = only(place);
    return {
      onRequest: shared.filter(({ on }) => on.includes(place)).map(({ hook }) => hook),
      ...(own && { config: { rateLimit: own.options } }),
    };
  };

  app.get('/hello', limits('/hello'), async () => 'hello');
  app.options('/hello', async (_, reply) => reply.code(204).send());
  app.get('/json', limits('/json'), async () => ({ ok: true }));
  app.post('/echo', limits('/echo'), async ({ body }) => body);
  app.get<{ Params: { id: string } }>(
    '/users/:id',
    limits('/users/:id'),
    async ({ params }) => `user ${params.id}`,
  );
  app.get('/login', limits('/login'), async () => 'welcome');
  app.get('/key', limits('/key'), tellKey);
  app.get('/boom', limits('/boom'), boom);
  app.get('/forbidden', limits('/forbidden'), forbidden);
  app.get('/stream', limits('/stream'), async (_, reply) => {
    return reply.type('text/event-stream').send(Readable.from(EVENTS));
  });
  app.get('/broken', limits('/broken'), (_, reply) => reply.send(brokenStream()));
  app.get('/hang', limits('/hang'), () => new Promise(() => {}));
  app.get('/raw', limits('/raw'), (request, reply) => {
    reply.hijack();
    answerRaw(request.raw, reply.raw);
  });
  app.get('/not-modified', limits('/not-modified'), async (_, reply) => reply.code(304).send());
  app.get('/empty', limits('/empty'), async (_, reply) => reply.code(204).send());
  app.get('/cached', limits('/cached'), async (_, reply) => {
    reply.header('Cache-Control', 'public, max-age=60');
    return 'cached';
  });
  await app.register(
    async (api) => {
      const own = only('api');
      if (own !== undefined) await api.register(rateLimit, { ...common, ...own.options });
      api.get('/things/:id', limits('/api/things/:id'), tellKey);
    },
    { prefix: '/api' },
  );
  await app.ready();
  return (request, response) => app.routing(request, response);
}

const tellKey = async ({ rateLimit }: FastifyRequest): Promise<string> =>
  rateLimit?.tightest.key ?? 'none';

const slowDown: DenialHandler = (request, reply) => {
  reply.send({ slowDown: request.rateLimit?.tightest.policy });
};
