import { setTimeout } from 'node:timers/promises';
import { MemoryStore, type Store } from '@floodgate/core';
import { RedisStore } from '@floodgate/redis';
import { Redis } from 'ioredis';

/** Where counts live, for as long as the process does. */
export interface OpenStore {
  readonly store: Store;
  /** Once the last request is answered: a connection would keep the process from ending. */
  close(): void;
}

/** How long to wait for Redis: it may start at the same time as we do, and it may not come at all. */
const LONGEST_WAIT_MS = 2000;

/** In this process's memory; or, where there is a URL, in a Redis server, whose clients all share one count. */
export async function openStore(redisUrl = ''): Promise<OpenStore> {
  if (redisUrl === '') return { store: new MemoryStore(), close() {} };
  const client = new Redis(redisUrl, {
    // Left alone, it would wait longer and longer, and counts are shared again only once it is back.
    retryStrategy: (times) => Math.min(times * 100, 1000),
  });
  // Each lost connection and each attempt is one: a hundred alike say no more than the first.
  let told = '';
  client.on('error', ({ message }) => {
    if (message !== told) process.stderr.write(`Redis: ${message}\n`);
    told = message;
  });
  // Until then, requests would be counted here. That is no reason not to serve them.
  const ready = new Promise((resolve) => client.once('ready', resolve));
  await Promise.race([ready, setTimeout(LONGEST_WAIT_MS, undefined, { ref: false })]);
  return {
    store: new RedisStore({ client }),
    close() {
      if (client.status !== 'ready') {
        client.disconnect();
        return;
      }
      // After what was sent before it. A server that is silent is not waited for any longer.
      client.quit().catch(() => {});
      setTimeout(LONGEST_WAIT_MS, undefined, { ref: false }).then(() => client.disconnect());
    },
  };
}
