import type { Clock } from '@floodgate/core';
import { ManualClock, storeContract } from '@floodgate/core/testing';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { testWorkedTimelines } from '../../core/test/worked-timelines.ts';
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

describe('the worked timelines', () => testWorkedTimelines(emptyStore));
