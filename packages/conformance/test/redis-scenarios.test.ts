import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectPlayed } from './http/expect-played.ts';
import { frameworks } from './http/frameworks.ts';
import { RemoteHost } from './http/remote-host.ts';
import { isExchange, type Scenario } from './http/scenario.ts';
import { scenarios } from './http/scenarios.ts';

// The same requests and answers as in memory, byte for byte, times among them: here Redis counts, by the clock of the
// test. What happens while it is away is in redis-away.test.ts.

let redis: RedisServer;
let host: RemoteHost;
beforeAll(async () => {
  redis = await startRedis();
  host = new RemoteHost(process.execPath, redis.url);
});
afterAll(async () => {
  await host.stop();
  await redis.stop();
});

const storeIsThere = ({ steps }: Scenario): boolean =>
  steps.every((step) => isExchange(step) || !('store' in step));

describe.each(frameworks)('$framework', ({ framework, family }) => {
  const able = scenarios.filter(({ except }) => except?.[family] === undefined);

  test.each(able.filter(storeIsThere))('$name', async (scenario) => {
    expectPlayed(scenario, family, await host.play(framework, scenario));
  });
});

test('all that came was counted by Redis', async () => {
  expect(Number(await redis.command('DBSIZE'))).toBeGreaterThan(100);
});
