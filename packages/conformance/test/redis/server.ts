// A process of its own that serves each framework's app with one limit on the Redis at `REDIS_URL`, and tells its
// parent the ports.
import { once } from 'node:events';
import { RedisStore } from '@floodgate/redis';
import { Redis } from 'ioredis';
import { frameworks } from '../http/frameworks.ts';
import { serve } from './serve.ts';

const client = new Redis(process.env.REDIS_URL as string);
await once(client, 'ready');

const ports: Record<string, number> = {};
for (const { framework } of frameworks) {
  // However busy the machine is: what is counted elsewhere would not be exact.
  const store = new RedisStore({ client, prefix: framework, timeout: '30s' });
  const quota = 'fixed-window 10/1h align=first-request';
  const { port } = await serve(framework, store, { quota, onStoreError: 'deny' });
  ports[framework] = port;
}
process.send?.(ports);
// Nobody is left to ask.
process.on('disconnect', () => process.exit());
