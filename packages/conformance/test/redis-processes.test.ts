import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sourceFlags } from './docs/program.ts';
import { frameworks } from './http/frameworks.ts';
import { answerOf, statusOf } from './redis/answer.ts';

// Four server processes on one Redis have one limit.

type Ports = Readonly<Record<string, number>>;

let redis: RedisServer;
let processes: ChildProcess[];
let ports: readonly Ports[];
beforeAll(async () => {
  redis = await startRedis();
  const env = { ...process.env, REDIS_URL: redis.url };
  processes = Array.from({ length: 4 }, () =>
    fork(require.resolve('./redis/server.ts'), { execArgv: [...sourceFlags], env }),
  );
  ports = await Promise.all(
    processes.map(async (one) => ((await once(one, 'message')) as [Ports])[0]),
  );
});
afterAll(async () => {
  for (const one of processes) one.disconnect();
  await Promise.all(processes.map((one) => once(one, 'exit')));
  await redis.stop();
});

test.each(frameworks)(
  '$framework: of 200 requests at once, at four processes, exactly 10 are served',
  async ({ framework }) => {
    const sent = Array.from({ length: 200 }, (_, i) =>
      answerOf(ports[i % 4]?.[framework] as number),
    );
    const statuses = (await Promise.all(sent)).map(statusOf);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(190);
  },
);
