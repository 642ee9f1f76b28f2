import fastify from 'fastify';
import fastify50 from 'fastify50';

/** The versions of Fastify that all tests here run on. The types of one fit both, as far as the tests go. */
export const versions: readonly (readonly [name: string, fastify: typeof fastify])[] = [
  ['Fastify 5', fastify],
  ['Fastify 5.0', fastify50 as unknown as typeof fastify],
];
