import LocalStore from '@fastify/rate-limit/store/LocalStore.js';
import * as expressRateLimit from 'express-rate-limit';
import Limiter from 'koa-ratelimit/limiter/memory.js';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { limitFor, type Subject, sink } from './subject.ts';

/** Our peers' memory stores, called as their own middleware calls them. */

/** The longest that a timer can hold, and some of our peers hold one a key: less than half of it, in whole seconds. */
const WINDOW_S = 1_000_000;
const WINDOW_MS = WINDOW_S * 1000;

/** It counts, and leaves the decision to its middleware: so it is compared here. */
const expressStore: Subject = {
  name: 'express-rate-limit MemoryStore',
  kind: 'peer',
  prepare: ({ outcome }) => {
    const limit = limitFor(outcome);
    const store = new expressRateLimit.MemoryStore();
    store.init({ windowMs: WINDOW_MS } as expressRateLimit.Options);
    return {
      decide: async (keys) => {
        let denied = 0;
        for (let i = 0; i < keys.length; i += 1) {
          const info = await store.increment(keys[i] as string);
          if (info.totalHits > limit) denied += 1;
          sink.last = info;
        }
        sink.last = denied;
      },
      close: () => store.shutdown(),
    };
  },
};

const fastifyStore: Subject = {
  name: '@fastify/rate-limit LocalStore',
  kind: 'peer',
  prepare: ({ outcome, keyCount }) => {
    const limit = limitFor(outcome);
    const store = new LocalStore(false, false, keyCount);
    const callback = (_: unknown, hits: unknown): void => {
      sink.last = hits;
    };
    return {
      decide: (keys) => {
        for (let i = 0; i < keys.length; i += 1) {
          store.incr(keys[i] as string, callback, WINDOW_MS, limit);
        }
      },
    };
  },
};

const flexible: Subject = {
  name: 'rate-limiter-flexible RateLimiterMemory',
  kind: 'peer',
  prepare: ({ outcome }) => {
    const limiter = new RateLimiterMemory({ points: limitFor(outcome), duration: WINDOW_S });
    return {
      decide: async (keys) => {
        for (let i = 0; i < keys.length; i += 1) {
          try {
            sink.last = await limiter.consume(keys[i] as string);
          } catch (denial) {
            sink.last = denial;
          }
        }
      },
    };
  },
};

/** Its middleware makes a limiter for each request, of a copy of all its options. */
const koaLimiter: Subject = {
  name: 'koa-ratelimit, memory',
  kind: 'peer',
  prepare: ({ outcome }) => {
    const options = {
      driver: 'memory',
      duration: WINDOW_MS,
      max: limitFor(outcome),
      id: '',
      headers: {},
      onLimited: undefined,
      db: new Map<string, unknown>(),
    };
    return {
      decide: async (keys) => {
        for (let i = 0; i < keys.length; i += 1) {
          sink.last = await new Limiter({ ...options, id: keys[i] as string }).get();
        }
      },
    };
  },
};

export const peers: readonly Subject[] = [expressStore, fastifyStore, flexible, koaLimiter];
