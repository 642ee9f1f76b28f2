// Makes a limiter on a Redis that is not there, lets time pass, and then asks it.
import { setTimeout } from 'node:timers/promises';
import { RateLimiter } from '@floodgate/core';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { RedisStore } from '../../src/index.ts';

process.on('unhandledRejection', (reason) => {
  console.log('unhandled rejection', reason);
});

const ioredis = new Redis({ host: '127.0.0.1', port: 1 });
const nodeRedis = createClient({ url: 'redis://127.0.0.1:1' });
for (const client of [ioredis, nodeRedis]) client.on('error', () => {});
nodeRedis.connect().catch(() => {});

const limiters = [ioredis, nodeRedis].map(
  (client) =>
    new RateLimiter({
      store: new RedisStore({ client }),
      policies: [
        { name: 'local', quota: '1/1m' },
        { name: 'allow', quota: '1/1m', onStoreError: 'allow' },
        { name: 'deny', quota: '1/1m', onStoreError: 'deny' },
      ],
      onEvent: ({ code }) => console.log(code),
    }),
);
await setTimeout(1000);
for (const limiter of limiters) {
  for (const policy of ['local', 'local', 'allow', 'allow', 'deny']) {
    const { allowed, retryAfterMs } = await limiter.take([{ policy, key: 'k' }]);
    console.log(policy, allowed, Number.isFinite(retryAfterMs));
  }
}
ioredis.disconnect();
nodeRedis.destroy();
