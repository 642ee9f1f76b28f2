import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { type ServerProcess, startServer } from '@floodgate/example-test-support';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';

// A process of its own, on however busy a machine.
jest.setTimeout(60_000);

const example = { cwd: resolve(__dirname, '..'), env: { REDIS_URL: '' } };
/** Where counts live. */
const places = [
  ['in memory', undefined],
  ['on Redis', startRedis],
] as const;
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Each X-RateLimit header's number, and the one of Retry-After. */
function limitHeaders({ headers }: Response): Record<string, number | undefined> {
  const number = (name: string): number | undefined => {
    const value = headers.get(name);
    return value === null ? undefined : Number(value);
  };
  return {
    limit: number('X-RateLimit-Limit'),
    remaining: number('X-RateLimit-Remaining'),
    reset: number('X-RateLimit-Reset'),
    retryAfter: number('Retry-After'),
  };
}

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

  const get = (path: string): Promise<Response> => fetch(server.url + path);
  const post = (path: string, body: string, headers: Record<string, string> = JSON_TYPE) =>
    fetch(server.url + path, { method: 'POST', headers, body });
  const left = async (): Promise<Record<string, { limit: number; remaining: number }>> =>
    ((await (await get('/rate_limit')).json()) as { limits: never }).limits;

  test('says what to try, with its own address', async () => {
    expect(server.url).toMatch(/^http:\/\/localhost:\d+$/);
    await server.printed(/curl .*\/rate_limit\n/);
    expect(server.output()).toContain(`curl ${server.url}/rate_limit`);
  });

  test('asking what is left of each limit uses nothing', async () => {
    const before = await left();
    expect(Object.entries(before).map(([name, { limit }]) => [name, limit])).toEqual([
      ['ceiling', 2000],
      ['sign-in', 10],
      ['search', 30],
      ['email', 5],
      ['uploads', 20],
      ['everything-else', 1000],
    ]);
    for (const { limit, remaining } of Object.values(before)) expect(remaining).toBe(limit);
    for (let i = 0; i < 20; i += 1) await left();
    expect(await left()).toMatchObject(
      Object.fromEntries(
        Object.entries(before).map(([name, { limit, remaining }]) => [name, { limit, remaining }]),
      ),
    );
    const response = await get('/rate_limit');
    expect(response.status).toBe(200);
    expect(limitHeaders(response).limit).toBeUndefined();
  });

  test('ten sign-ins a minute, right or wrong', async () => {
    const statuses: number[] = [];
    let denial: Response | undefined;
    for (let i = 0; i < 11; i += 1) {
      const password = i === 0 ? 'engine' : `guess ${i}`;
      const response = await post('/sign-in', JSON.stringify({ user: 'ada', password }));
      statuses.push(response.status);
      expect(limitHeaders(response)).toMatchObject({ limit: 10, remaining: Math.max(0, 9 - i) });
      denial = response;
    }
    expect(statuses).toEqual([200, ...Array<number>(9).fill(401), 429]);

    const { reset = 0, retryAfter = 0 } = limitHeaders(denial as Response);
    expect(retryAfter).toBeGreaterThan(30);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(Math.abs(reset - retryAfter - Date.now() / 1000)).toBeLessThan(20);
    expect(denial?.headers.get('Cache-Control')).toBe('no-store');
    expect(await denial?.json()).toEqual({
      error: {
        code: 'RATE_LIMITED',
        message: `Rate limit exceeded. Try again in ${retryAfter === 60 ? '1 minute' : `${retryAfter} seconds`}.`,
        retryAfter,
        resetAt: reset,
        policy: 'sign-in',
        limits: {
          'sign-in': { limit: 10, remaining: 0 },
          ceiling: { limit: 2000, remaining: expect.any(Number) },
        },
      },
    });
    expect(await left()).toMatchObject({ 'sign-in': { remaining: 0 }, search: { remaining: 30 } });
  });

  test('each decision is one line', async () => {
    await server.printed(/POST \/sign-in .* denied .*\n/);
    const lines = server.output().match(/^\S+ {2}POST \/sign-in .*$/gm) ?? [];
    expect(lines).toHaveLength(11);
    const time =
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z {2}POST \/sign-in {2}ip:\S+ {2}sign-in {2}/;
    for (const line of lines) expect(line).toMatch(time);
    expect(lines[0]).toMatch(/allowed {2}9 left {2}wait 0 s$/);
    expect(lines[10]).toMatch(/denied {3}0 left {2}wait [3-6]\d(\.\d+)? s$/);
  });

  test('thirty searches a minute', async () => {
    const first = await get('/search?q=tea');
    expect(first.status).toBe(200);
    expect(await first.json()).toEqual({ results: ['black tea', 'green tea'] });
    expect(limitHeaders(first)).toMatchObject({ limit: 30, remaining: 29 });
    let denial: Response | undefined;
    let admitted = 1;
    for (; denial === undefined; ) {
      const response = await get('/search?q=tea');
      if (response.status === 429) denial = response;
      else admitted += 1;
    }
    // At the turn of a minute, a sliding window counter starts to count the minute before for less.
    expect(admitted).toBeGreaterThanOrEqual(30);
    expect(admitted).toBeLessThanOrEqual(32);
    expect(limitHeaders(denial)).toMatchObject({ limit: 30, remaining: 0 });
    expect(limitHeaders(denial).retryAfter).toBeGreaterThan(0);
  });

  test('e-mails leave one a second', async () => {
    const start = performance.now();
    const send = async (): Promise<{ status: number; afterMs: number }> => {
      const { status } = await post('/emails', '{"to":"ada@example.com"}');
      return { status, afterMs: performance.now() - start };
    };
    const [first, second] = (await Promise.all([send(), send()])).sort(
      (a, b) => a.afterMs - b.afterMs,
    );
    expect([first?.status, second?.status]).toEqual([202, 202]);
    // The machine may be late, the server must not be early: its turn comes a second after the first one's.
    expect(second?.afterMs).toBeGreaterThan(990);
    // A whole second where both came in one millisecond.
    await server.printed(
      /POST \/emails {2}\S+ {2}email {2}allowed {2}\d left {2}wait (0\.\d+|1) s\n/,
    );
  });

  test('an upload costs its megabytes', async () => {
    const upload = (bytes: number): Promise<Response> =>
      post('/uploads', 'x'.repeat(bytes), { 'Content-Type': 'application/octet-stream' });
    const first = await upload(11_000_001);
    expect(first.status).toBe(201);
    expect(await first.json()).toEqual({ bytes: 11_000_001 });
    expect(limitHeaders(first)).toMatchObject({ limit: 20, remaining: 8 });
    expect((await upload(0)).status).toBe(201);

    const denial = await upload(15_000_000);
    expect(denial.status).toBe(429);
    // At least 7 are left, one more comes each 3 seconds, and 15 are needed.
    expect(limitHeaders(denial).retryAfter).toBeLessThanOrEqual(24);
    expect((await upload(2_000_000)).status).toBe(201);

    const never = await upload(21_000_000);
    expect(never.status).toBe(429);
    expect(limitHeaders(never).retryAfter).toBeUndefined();
    expect(await never.json()).toMatchObject({ error: { retryAfter: null, resetAt: null } });
    await server.printed(/uploads {2}denied {3}\d+ left {2}no wait helps\n/);
  });

  test('everything else is a thousand a minute, pages that are not there among it', async () => {
    const found = await get('/');
    const missing = await get('/missing');
    expect([found.status, missing.status]).toEqual([200, 404]);
    expect(await missing.json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
    expect(limitHeaders(found)).toMatchObject({ limit: 1000, remaining: 999 });
    expect(limitHeaders(missing).limit).toBe(1000);
    expect((await left())['everything-else']?.remaining).toBeLessThan(1000);
  });
});

describe('the process', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('ends by %s, and by two of them', async (signal) => {
    const server = await startServer(example);
    // A connection that is kept alive holds nobody up.
    await (await fetch(server.url)).text();
    server.kill(signal);
    server.kill(signal);
    expect(await server.exited).toBe(0);
  });

  test('answers what it has begun before it ends', async () => {
    const server = await startServer(example);
    const send = async (): Promise<number> => {
      const body = '{"to":"ada@example.com"}';
      const response = await fetch(`${server.url}/emails`, {
        method: 'POST',
        headers: JSON_TYPE,
        body,
      });
      await response.text();
      return response.status;
    };
    const sent = [send(), send(), send()];
    await server.printed(/(email {2}allowed.*){3}/s);
    const start = performance.now();
    server.kill('SIGTERM');
    expect(await Promise.all(sent)).toEqual([202, 202, 202]);
    expect(await server.exited).toBe(0);
    // Two seconds for the last turn, and none of the five for which a connection would be kept alive.
    expect(performance.now() - start).toBeLessThan(6000);
    await expect(fetch(server.url)).rejects.toThrow();
  });

  test('says in a sentence that its port is in use', async () => {
    const other = createServer();
    await new Promise<void>((done) => other.listen(0, done));
    const { port } = other.address() as AddressInfo;
    const server = await startServer({ ...example, env: { ...example.env, PORT: String(port) } });
    expect(await server.exited).toBe(1);
    expect(server.output()).toBe(
      `Port ${port} is in use: choose another one, or any that is free by PORT=0 npm start\n`,
    );
    other.close();
  });

  test.each(['http', '65536', '-1'])('says in a sentence that %s is no port', async (port) => {
    const server = await startServer({ ...example, env: { ...example.env, PORT: port } });
    expect(await server.exited).toBe(1);
    expect(server.output()).toBe(`Expected PORT to be a number from 0 to 65535, got ${port}\n`);
  });
});
