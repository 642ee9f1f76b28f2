import { resolve } from 'node:path';
import { startServer } from '@floodgate/example-test-support';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterEach, expect, test } from '@jest/globals';

const example = { cwd: resolve(__dirname, '..'), env: { REDIS_URL: '' } };
/** Where counts live. */
const places = [
  ['in memory', undefined],
  ['on Redis', startRedis],
] as const;

let redis: RedisServer | undefined;
afterEach(() => redis?.stop());

test.each(places)(
  'five guesses, over a socket, and the right password will not do any more, %s',
  async (_, startStore) => {
    redis = await startStore?.();
    const server = await startServer({ ...example, env: { REDIS_URL: redis?.url ?? '' } });
    const signIn = (password: string, email = 'ada@example.com'): Promise<Response> =>
      fetch(`${server.url}/sign-in`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ email, password }),
      });

    const statuses: number[] = [];
    const left: number[] = [];
    for (const password of ['engine', 'engine', 'a', 'b', 'engine', 'c', 'd', 'e']) {
      const response = await signIn(password);
      statuses.push(response.status);
      left.push(Number(response.headers.get('X-RateLimit-Remaining')));
    }
    expect(statuses).toEqual([200, 200, 401, 401, 200, 401, 401, 401]);
    expect(left).toEqual([4, 4, 4, 3, 2, 2, 1, 0]);

    const denial = await signIn('engine');
    expect(denial.status).toBe(429);
    const retryAfter = Number(denial.headers.get('Retry-After'));
    expect(retryAfter).toBeGreaterThan(800);
    expect(retryAfter).toBeLessThanOrEqual(900);
    expect(await denial.json()).toMatchObject({
      error: { code: 'RATE_LIMITED', retryAfter, policy: 'sign-in' },
    });
    expect((await signIn('engine', 'charles@example.com')).status).toBe(401);
    expect((await signIn('engine', '')).status).toBe(400);
    expect((await fetch(server.url)).status).toBe(404);

    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
  },
);

test('says what to try, with its own address, and that its port is in use', async () => {
  const server = await startServer(example);
  await server.printed(/-d '\{"email":"ada@example\.com","password":"guess"\}' \S+\/sign-in\n/);
  expect(server.output()).toContain(`${server.url}/sign-in\n`);

  const second = await startServer({
    ...example,
    env: { ...example.env, PORT: new URL(server.url).port },
  });
  expect(await second.exited).toBe(1);
  expect(second.output()).toMatch(/EADDRINUSE/);
  server.kill('SIGINT');
  expect(await server.exited).toBe(0);
});
