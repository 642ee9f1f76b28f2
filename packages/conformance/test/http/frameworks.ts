/** Versions of one framework answer alike, but for what the framework itself does. */
export type Family = 'express' | 'fastify' | 'koa';

export type Framework = 'Express 4' | 'Express 5' | 'Fastify 5.0' | 'Fastify 5' | 'Koa 2' | 'Koa 3';

/** The frameworks that every scenario is played on: of each, the oldest version that is supported, and the newest. */
export const frameworks: readonly { readonly framework: Framework; readonly family: Family }[] = [
  { framework: 'Express 4', family: 'express' },
  { framework: 'Express 5', family: 'express' },
  { framework: 'Fastify 5.0', family: 'fastify' },
  { framework: 'Fastify 5', family: 'fastify' },
  { framework: 'Koa 2', family: 'koa' },
  { framework: 'Koa 3', family: 'koa' },
];
