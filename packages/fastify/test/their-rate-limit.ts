import type { FastifyPluginAsync } from 'fastify';

/** `@fastify/rate-limit` without its types: in a program that imports them, they are those of `fastify.rateLimit`. */
export const theirRateLimit: FastifyPluginAsync<{ readonly max: number }> =
  require('@fastify/rate-limit');
