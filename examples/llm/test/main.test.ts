import { resolve } from 'node:path';
import { type ServerProcess, startServer } from '@floodgate/example-test-support';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const example = { cwd: resolve(__dirname, '..'), env: { REDIS_URL: '' } };
/** Where counts live. */
const places = [
  ['in memory', undefined],
  ['on Redis', startRedis],
] as const;

describe.each(places)('the server, over a socket, %s', (_, startStore) => {
  let redis: RedisServer | undefined;
  let server: ServerProcess;
  beforeAll(async () => {
    redis = await startStore?.();
    server = await startServer({ ...example, env: { REDIS_URL: redis?.url ?? '' } });
  });
  afterAll(async () => {
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    await redis?.stop();
  });

  const ask = (path: string, prompt: string, maxTokens: number, signal?: AbortSignal) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'X-API-Key': 'ada', 'Content-Type': 'application/json' },
      body: JSON.stringify({ prompt, max_tokens: maxTokens }),
      ...(signal && { signal }),
    });
  const left = async (): Promise<{ requests: number; tokens: number }> => {
    const response = await fetch(`${server.url}/rate_limit`, { headers: { 'X-API-Key': 'ada' } });
    return ((await response.json()) as { left: { requests: number; tokens: number } }).left;
  };

  test('says what to try, with its own address', async () => {
    await server.printed(/curl .*\/rate_limit\n/);
    expect(server.output()).toContain(`${server.url}/answers/stream`);
  });

  test('streams, and the model stops where the client is gone', async () => {
    const gone = new AbortController();
    const response = await ask('/answers/stream', 'Count to 600', 590, gone.signal);
    expect(response.headers.get('RateLimit')).toMatch(/"requests";r=19;.*"tokens";r=7;/);
    await response.body?.getReader().read();
    gone.abort();
    // What it said until then is not much.
    while ((await left()).tokens < 500);
  });

  test('answers as a whole', async () => {
    const response = await ask('/answers', 'To be or not to be', 10);
    expect(await response.json()).toEqual({
      text: 'To be or not to be ',
      usage: { prompt: 6, completion: 6 },
      charged: 6,
    });
  });

  test('prints a line for a denial, without the key', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 3 }, async () => (await ask('/answers', 'Hi', 590)).status),
    );
    expect(statuses).toContain(429);
    await server.printed(/"policy":"tokens","key":"key:[\w-]{43}".*"msg":"denied"/);
  });
});

test('says in a sentence that its port is in use', async () => {
  const server = await startServer(example);
  const another = await startServer({
    ...example,
    env: { ...example.env, PORT: new URL(server.url).port },
  });
  expect(await another.exited).toBe(1);
  expect(another.output()).toMatch(/^listen EADDRINUSE/);
  server.kill('SIGINT');
  server.kill('SIGINT');
  expect(await server.exited).toBe(0);
});
