import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type ServerProcess, startServer } from '@floodgate/example-test-support';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';

// Processes of their own, on however busy a machine.
jest.setTimeout(60_000);

let redis: RedisServer;
const servers: ServerProcess[] = [];
beforeEach(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  for (const server of servers) server.kill('SIGKILL');
  await Promise.all(servers.splice(0).map(({ exited }) => exited));
  await redis.stop();
});

/** One more server on this Redis. */
async function serve(): Promise<ServerProcess> {
  const cwd = resolve(__dirname, '..');
  const server = await startServer({ cwd, env: { REDIS_URL: redis.url } });
  servers.push(server);
  return server;
}

async function signIn({ url }: ServerProcess): Promise<number> {
  const response = await fetch(`${url}/sign-in`, { method: 'POST' });
  await response.arrayBuffer();
  return response.status;
}

/** What a server says is left of the sign-ins. */
async function left({ url }: ServerProcess): Promise<number> {
  const response = await fetch(`${url}/rate_limit`);
  expect(response.status).toBe(200);
  const { limits } = (await response.json()) as { limits: { 'sign-in': { remaining: number } } };
  return limits['sign-in'].remaining;
}

/** Until a server counts on this Redis, which is empty before and after. */
async function untilShared(server: ServerProcess): Promise<void> {
  while ((await redis.command('DBSIZE')) === 0) {
    expect((await fetch(server.url)).status).toBe(200);
    await setTimeout(20);
  }
  await redis.command('FLUSHALL');
}

function count(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test('two processes share one limit, exactly', async () => {
  const [first, second] = await Promise.all([serve(), serve()]);
  const sent = Array.from({ length: 40 }, (_, i) => signIn(i % 2 === 0 ? first : second));
  expect(count(await Promise.all(sent))).toEqual({ 401: 10, 429: 30 });
  expect([await left(first), await left(second)]).toEqual([0, 0]);
});

test('while Redis is away requests are answered, and when it is back counts are shared again', async () => {
  const [first, second] = await Promise.all([serve(), serve()]);
  expect(await signIn(first)).toBe(401);
  expect(await left(second)).toBe(9);

  await redis.crash();
  // Each process counts by itself.
  for (const server of [first, second]) {
    const statuses: number[] = [];
    for (let i = 0; i < 12; i += 1) statuses.push(await signIn(server));
    expect(count(statuses)).toEqual({ 401: 10, 429: 2 });
  }

  // It comes back empty.
  await redis.restart();
  await untilShared(first);
  await untilShared(second);
  expect(await signIn(first)).toBe(401);
  expect(await signIn(second)).toBe(401);
  expect([await left(first), await left(second)]).toEqual([8, 8]);
});

describe('the process', () => {
  test('starts though Redis is not there, and finds it later', async () => {
    await redis.crash();
    const server = await serve();
    for (let i = 0; i < 10; i += 1) expect(await signIn(server)).toBe(401);
    expect(await signIn(server)).toBe(429);
    await redis.restart();
    await untilShared(server);
    expect(await signIn(server)).toBe(401);
  });

  test.each([
    ['is there', () => {}],
    ['is gone', () => redis.crash()],
    ['hangs', () => redis.pause()],
  ])('ends by SIGTERM while Redis %s', async (_, happen) => {
    const server = await serve();
    expect(await signIn(server)).toBe(401);
    await happen();
    expect(await signIn(server)).toBe(401);
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    // Without a word of what went wrong while it ended.
    expect(server.output()).not.toMatch(/\bError\b|settle-failed/);
  });
});
