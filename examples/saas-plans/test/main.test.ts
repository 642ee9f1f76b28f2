import { once } from 'node:events';
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import { type ServerProcess, startServer } from '@floodgate/example-test-support';
import { keys } from '@floodgate/express';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { OPERATOR, OPERATOR_TOKEN } from './server.ts';

// A process of its own, on however busy a machine.
jest.setTimeout(60_000);

const cwd = resolve(__dirname, '..');
const env = { OPERATOR_TOKEN, REDIS_URL: '' };
/** Where counts live. */
const places = [
  ['in memory', undefined],
  ['on Redis', startRedis],
] as const;

describe.each(places)('the server, over a socket, %s', (place, startStore) => {
  let redis: RedisServer | undefined;
  let server: ServerProcess;
  beforeAll(async () => {
    redis = await startStore?.();
    server = await startServer({ cwd, env: { ...env, REDIS_URL: redis?.url ?? '' } });
  });
  afterAll(async () => {
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    await redis?.stop();
  });

  const quotes = (apiKey: string): Promise<Response> =>
    fetch(`${server.url}/v1/quotes`, { headers: { 'X-API-Key': apiKey } });

  /** Runs the command, as from a terminal: against this server, or past it on its Redis. */
  const limits = async (...args: string[]): Promise<{ output: string; code: number | null }> => {
    const variables =
      redis === undefined
        ? { OPERATOR_TOKEN, SERVER_URL: server.url }
        : { OPERATOR_TOKEN: '', REDIS_URL: redis.url };
    const command = await startServer({
      cwd,
      env: { ...env, ...variables },
      program: 'src/limits.ts',
      args,
    });
    const code = await command.exited;
    return { output: command.output(), code };
  };

  test('limits customers, and does as the command says', async () => {
    for (let sent = 0; sent < 10; sent += 1) {
      expect((await quotes('demo-ada-laptop')).status).toBe(200);
    }
    const denial = await quotes('demo-ada-laptop');
    expect(denial.status).toBe(429);
    expect(await denial.json()).toMatchObject({ error: { plan: 'free' } });
    await server.printed(/^denied {2}user:42 {2}(perMinute|burst) {2}\d+ ms\n/m);

    const seen = await limits('inspect', 'user', '42');
    expect(seen.code).toBe(0);
    expect(JSON.parse(seen.output)).toMatchObject({ user: '42', plan: 'free', blocked: false });

    expect(await limits('reset', 'user', '42')).toEqual({ output: '', code: 0 });
    expect((await quotes('demo-ada-laptop')).status).toBe(200);
    const id = keys.apiKey('demo-ada-laptop');
    expect(await limits('block', 'key', id, '1h')).toEqual({ output: '', code: 0 });
    expect((await quotes('demo-ada-laptop')).status).toBe(429);
    if (redis === undefined) {
      await server.printed(/^operator {2}user:42 {2}reset\n/m);
      await server.printed(/^operator {2}key:\S{8}… {2}blocked for 1h\n/m);
    }

    expect(await limits('unblock', 'user', '7')).toEqual({
      output: 'There is no such user\n',
      code: 1,
    });
    expect((await limits('help')).code).toBe(2);

    const metrics = await (await fetch(`${server.url}/metrics`, { headers: OPERATOR })).text();
    expect(metrics).toContain(
      '\nfloodgate_verdicts_total{limiter="customers",outcome="allowed"} 11',
    );
    expect(metrics.includes('floodgate_store_keys')).toBe(place === 'in memory');
  });

  test('prints no API key, and no token', async () => {
    await quotes('demo-of-nobody');
    for (const secret of ['demo-', OPERATOR_TOKEN, keys.apiKey('demo-ada-laptop')]) {
      expect(server.output()).not.toContain(secret);
    }
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)('the process ends by %s', async (signal) => {
  const server = await startServer({ cwd, env });
  await (await fetch(server.url)).text();
  server.kill(signal);
  expect(await server.exited).toBe(0);
});

test.each(['', 'short'])('the process wants a token, and %j is none', async (token) => {
  const server = await startServer({ cwd, env: { ...env, OPERATOR_TOKEN: token } });
  expect(await server.exited).toBe(1);
  expect(server.output()).toBe('Expected OPERATOR_TOKEN to be a secret of 32 characters or more\n');
});

test('the command says that nobody listens, and when somebody else does', async () => {
  const run = async (url: string): Promise<string> => {
    const variables = { ...env, SERVER_URL: url };
    const args = ['inspect', 'user', '42'];
    const command = await startServer({ cwd, env: variables, program: 'src/limits.ts', args });
    expect(await command.exited).toBe(1);
    return command.output();
  };
  const other = createServer((_request, response) => void response.writeHead(404).end('Hm'));
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const { port } = other.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  expect(await run(url)).toBe("Expected the server's answer, got status 404\n");
  other.closeAllConnections();
  other.close();
  await once(other, 'close');
  expect(await run(url)).toBe('fetch failed: ECONNREFUSED\n');
});

test('while Redis is away customers are limited all the same, and the command says so', async () => {
  const redis = await startRedis();
  const variables = { ...env, REDIS_URL: redis.url };
  const server = await startServer({ cwd, env: variables });
  const quotes = async (): Promise<number> =>
    (await fetch(`${server.url}/v1/quotes`, { headers: { 'X-API-Key': 'demo-ada-laptop' } }))
      .status;
  expect(await quotes()).toBe(200);
  await redis.stop();
  const statuses: number[] = [];
  for (let sent = 0; sent < 12; sent += 1) statuses.push(await quotes());
  expect(statuses).toEqual([...Array<number>(10).fill(200), 429, 429]);

  for (const args of [
    ['inspect', 'user', '42'],
    ['block', 'user', '42', '1h'],
  ]) {
    const command = await startServer({ cwd, env: variables, program: 'src/limits.ts', args });
    expect(await command.exited).toBe(1);
    expect(command.output()).toMatch(/^Redis failed \(.*\)\n$/m);
  }
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
});
