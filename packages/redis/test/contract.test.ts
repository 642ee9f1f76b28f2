import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, type Decision, limitOf, type Quota, toQuota } from '@floodgate/core';
import { ManualClock, storeContract } from '@floodgate/core/testing';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisStore } from '../src/index.ts';

// What every store must do, and the timelines that another program worked out, on a real server.

let server: RedisServer;
let client: Redis;
let stores = 0;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
  await client.ping();
});

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** A store that holds nothing yet. */
function emptyStore(clock: Clock): RedisStore {
  stores += 1;
  return new RedisStore({ client, clock, prefix: `store-${stores}`, timeout: '30s' });
}

describe('the contract of all stores', () => {
  const cases = storeContract(() => {
    const clock = new ManualClock();
    return { clock, store: emptyStore(clock) };
  });

  test.each(cases)('$name', ({ run }) => run());
});

/** `[time, cost, allowed, remaining, retryAfterMs, resetAtMs, delayMs]` */
type Step = [number, number, boolean, number, number | 'never', number, number];

interface Timeline {
  readonly quota: Quota;
  readonly steps: readonly Step[];
}

const vectors = join(__dirname, '../../core/test/vectors');
const files = readdirSync(vectors).filter((file) => file.endsWith('.json'));

test('there are vectors of each algorithm', () => {
  expect(files).toHaveLength(5);
});

describe.each(files)('%s', (file) => {
  const timelines: Timeline[] = JSON.parse(readFileSync(join(vectors, file), 'utf8'));

  test.each(timelines.map((timeline, index) => ({ ...timeline, index })))(
    'timeline $index: $quota',
    async ({ quota, steps }) => {
      const clock = new ManualClock(0);
      const store = emptyStore(clock);
      const charge = { policy: 'policy', key: 'key', quota: toQuota(quota) };
      for (const [timeMs, cost, allowed, remaining, retryAfterMs, resetAtMs, delayMs] of steps) {
        clock.set(timeMs);
        const [decision] = (await store.take([{ ...charge, cost }])) as [Decision];
        expect({ timeMs, cost, ...decision }).toEqual({
          timeMs,
          cost,
          allowed,
          limit: limitOf(quota),
          remaining,
          retryAfterMs: retryAfterMs === 'never' ? Number.POSITIVE_INFINITY : retryAfterMs,
          resetAtMs,
          delayMs,
          blocked: false,
          atMs: expect.any(Number),
        });
      }
    },
  );
});
