// Takes from a store, by the server's clock: once it is told to, so many times; prints when which quota admitted one.
// With `endless` it takes on many connections until it is killed.
import { once } from 'node:events';
import { type Charge, type Decision, toQuota } from '@floodgate/core';
import { Redis } from 'ioredis';
import { RedisStore } from '../../src/index.ts';

const {
  REDIS_URL = '',
  QUOTAS = '',
  PREFIX = 'floodgate',
  CONNECTIONS = '1',
  TAKES = '0',
  FOR_MS = '0',
} = process.env;

const quotas = QUOTAS.split(', ').map((text) => toQuota(text));
const admitted: number[][] = quotas.map(() => []);

async function connect(): Promise<RedisStore> {
  const client = new Redis(REDIS_URL);
  await client.ping();
  return new RedisStore({ client, prefix: PREFIX, timeout: '30s' });
}

async function take(store: RedisStore, key: string): Promise<void> {
  const charges = quotas.map(
    (quota, i): Charge => ({ policy: `policy-${i}`, key, quota, cost: 1 }),
  );
  const takes = charges.map(async (charge, i) => {
    const [{ allowed, atMs }] = (await store.take([charge])) as [Decision];
    if (allowed) admitted[i]?.push(atMs);
  });
  await Promise.all(takes);
}

/** Each key is met a few times: it is made, counted up, denied, blocked. */
async function takeUntilKilled(store: RedisStore, connection: number): Promise<never> {
  for (let n = 0; ; n += 1) {
    const key = `${connection}-${n}`;
    for (let i = 0; i < 3; i += 1) await take(store, key);
    await store.block([{ policy: 'policy-0', key }], 10_800_000);
  }
}

if (process.argv[2] === 'endless') {
  const stores = await Promise.all(Array.from({ length: Number(CONNECTIONS) }, connect));
  await Promise.all(stores.map((store, connection) => take(store, `${connection}-first`)));
  console.log('ready');
  await Promise.all(stores.map(takeUntilKilled));
}
const store = await connect();
console.log('ready');
await once(process.stdin, 'data');
const all: Promise<void>[] = [];
for (let i = 0; i < Number(TAKES); i += 1) all.push(take(store, 'key'));
await Promise.all(all);
const endMs = performance.now() + Number(FOR_MS);
while (performance.now() < endMs) await take(store, 'key');
console.log(JSON.stringify(admitted));
process.exit();
