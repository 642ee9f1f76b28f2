// Parts of our peers that they do not export, and so have no types for: as far as they are called here.

declare module '@fastify/rate-limit/store/LocalStore.js' {
  export default class LocalStore {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, cache?: number);
    incr(
      key: string,
      callback: (error: unknown, hits: { readonly current: number; readonly ttl: number }) => void,
      windowMs: number,
      max: number,
    ): void;
  }
}

declare module 'koa-ratelimit/limiter/memory.js' {
  export default class Limiter {
    constructor(options: {
      readonly id: string;
      readonly db: Map<string, unknown>;
      readonly max: number;
      readonly duration: number;
    });
    get(): Promise<{ readonly remaining: number; readonly reset: number; readonly total: number }>;
  }
}

declare module 'koa-ratelimit' {
  import type { Context, Middleware } from 'koa';

  export default function rateLimit(options: {
    readonly driver: 'memory';
    readonly db: Map<unknown, unknown>;
    /** In milliseconds. */
    readonly duration: number;
    readonly max: number;
    readonly id: (context: Context) => string;
  }): Middleware;
}
