import {
  FloodgateError,
  HttpLimiter,
  handleOf,
  type LimiterHandle,
  takeOptions,
} from '@floodgate/http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fastifyPlugin from 'fastify-plugin';
import { type Done, Exchange, type Limiter } from './exchange.ts';
import type {
  RateLimitDecorator,
  RateLimitHook,
  RateLimitOptions,
  RateLimitPlugin,
  RateLimitPluginOptions,
  RequestHook,
} from './options.ts';
import { type FindLimiter, findOnRoutes } from './routes.ts';

/**
 * Limits how often a client may call: on all routes of the context that it is registered in and of those within, and
 * where nothing is found. A route's `config.rateLimit` adds limits to these, replaces them, or is false for none.
 *
 * @example
 * await fastify.register(rateLimit, { limit: 100, window: '1m' });
 * fastify.post('/sign-in', { config: { rateLimit: { limit: 10, window: '1m' } } }, signIn);
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` or `FLOODGATE_INVALID_QUOTA` where an option is wrong
 */
export const rateLimit: RateLimitPlugin = fastifyPlugin(plugin, {
  fastify: '5.x',
  name: '@floodgate/fastify',
});

/**
 * A hook with a limiter of its own, whose handle it is too. `fastify.rateLimit` makes the same, and closes them with the
 * server; this one is there before the plugin is.
 *
 * @example
 * fastify.get('/search', { onRequest: rateLimitHook({ limit: 30, window: '1m' }) }, search);
 *
 * @throws FloodgateError as {@link rateLimit} does
 */
export function rateLimitHook(options: RateLimitOptions): RateLimitHook {
  const { throwOnLimit, rest } = takeHookOptions(options ?? {});
  const limiter: Limiter = new HttpLimiter(rest);
  return Object.assign(
    hookOf(() => limiter, throwOnLimit),
    handleOf(limiter),
  );
}

async function plugin(fastify: FastifyInstance, options: RateLimitPluginOptions): Promise<void> {
  const { hook, global, rest } = takeOptions(options, { hook: HOOKS, global: [true, false] });
  const { throwOnLimit, rest: limits } = takeHookOptions(rest);
  const limiter: Limiter = new HttpLimiter(limits, { mayBeEmpty: !global });
  const decorator = decoratorOf(fastify, limiter);
  decorate(fastify, decorator);
  const find = findOnRoutes(fastify, limiter, decorator, global);
  fastify.addHook(hook as 'onRequest', hookOf(find, throwOnLimit));
}

const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const;

function takeHookOptions<Options extends RateLimitOptions | RateLimitPluginOptions>(
  options: Options,
): { readonly throwOnLimit: boolean; readonly rest: Options } {
  const taken = takeOptions(options, { throwOnLimit: [false, true] });
  const unused = (['handler', 'body', 'message'] as const).find((name) => taken.rest[name]);
  if (taken.throwOnLimit && unused !== undefined) {
    const text = `Expected only one of \`throwOnLimit\` and \`${unused}\`, got both`;
    throw new FloodgateError('FLOODGATE_INVALID_OPTION', text);
  }
  return taken;
}

function hookOf(find: FindLimiter, throwOnLimit: boolean): RequestHook {
  // `preParsing` has a parameter more than other hooks.
  return function limitRequest(request, reply, ...rest) {
    const done = rest.at(-1) as Done;
    const limiter = find(request as FastifyRequest);
    if (limiter === undefined) return done();
    const exchange = new Exchange(request as FastifyRequest, reply as FastifyReply, done);
    exchange.meet(limiter, throwOnLimit);
  };
}

/** What `fastify.rateLimit` is to be. The limiters of all hooks that it makes are closed with the server. */
function decoratorOf(fastify: FastifyInstance, limiter: Limiter): RateLimitDecorator {
  const open: LimiterHandle[] = [limiter];
  fastify.addHook('onClose', (_, closed) => {
    for (const limiter of open) limiter.close();
    closed();
  });
  function makeHook(options: RateLimitOptions): RateLimitHook {
    const hook = rateLimitHook(options);
    open.push(hook);
    return hook;
  }
  return Object.assign(makeHook, handleOf(limiter));
}

function decorate(fastify: FastifyInstance, decorator: RateLimitDecorator): void {
  if (!fastify.hasRequestDecorator('rateLimit')) fastify.decorateRequest('rateLimit', undefined);
  // Registered twice in one context, the plugin limits twice, and the later one is at hand.
  const isAgain = Object.hasOwn(fastify, 'rateLimit') && 'unblock' in fastify.rateLimit;
  if (isAgain) Object.assign(fastify, { rateLimit: decorator });
  else fastify.decorate<unknown>('rateLimit', decorator);
}
