import { resolve } from 'node:path';
import { type ServerProcess, startServer } from '@floodgate/example-test-support';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const example = { cwd: resolve(__dirname, '..') };

describe('the server, over a socket', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer(example);
  });
  afterAll(async () => {
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
  });

  const get = (path: string): Promise<Response> => fetch(server.url + path);
  const signIn = (password: string): Promise<Response> =>
    fetch(`${server.url}/sign-in`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ user: 'ada', password }),
    });
  const upload = (bytes: number): Promise<Response> => {
    const headers = { 'Content-Type': 'application/octet-stream' };
    return fetch(`${server.url}/uploads`, { method: 'POST', headers, body: 'x'.repeat(bytes) });
  };
  const left = async (): Promise<Record<string, number>> => {
    const { limits } = (await (await get('/rate_limit')).json()) as {
      limits: Record<string, { remaining: number }>;
    };
    return Object.fromEntries(
      Object.entries(limits).map(([name, { remaining }]) => [name, remaining]),
    );
  };
  const header = ({ headers }: Response, name: string): number => Number(headers.get(name));

  test('says what to try, with its own address', async () => {
    await server.printed(/curl .*\/rate_limit\n/);
    expect(server.output()).toContain(`curl ${server.url}/rate_limit`);
  });

  test('asking what is left uses nothing, nor does a look at its health', async () => {
    const full = { everything: 1000, 'sign-in': 10, search: 30, uploads: 20 };
    for (let i = 0; i < 5; i += 1) expect(await left()).toEqual(full);
    const health = await get('/health');
    expect(await health.json()).toEqual({ ok: true });
    expect(health.headers.has('X-RateLimit-Limit')).toBe(false);
    expect(await left()).toEqual(full);
  });

  test('ten sign-ins a minute, right or wrong', async () => {
    const statuses = [(await signIn('engine')).status];
    for (let i = 1; i < 10; i += 1) statuses.push((await signIn(`guess ${i}`)).status);
    expect(statuses).toEqual([200, ...Array(9).fill(401)]);

    const denial = await signIn('engine');
    expect(denial.status).toBe(429);
    const retryAfter = header(denial, 'Retry-After');
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(await denial.json()).toMatchObject({
      error: {
        code: 'RATE_LIMITED',
        retryAfter,
        policy: 'sign-in',
        limits: { 'sign-in': { limit: 10, remaining: 0 }, everything: { limit: 1000 } },
      },
    });
    expect(await left()).toMatchObject({ 'sign-in': 0, search: 30 });
    await server.printed(/"policy":"sign-in".*"msg":"denied"/);
  });

  test('a script of another origin can read a denial', async () => {
    const denial = await signIn('engine');
    expect(denial.status).toBe(429);
    expect(denial.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(denial.headers.get('Access-Control-Expose-Headers')).toMatch(/Retry-After/);
  });

  test('thirty searches a minute', async () => {
    const first = await get('/search?q=tea');
    expect(await first.json()).toEqual({ results: ['black tea', 'green tea'] });
    expect(header(first, 'X-RateLimit-Limit')).toBe(30);
    let admitted = 1;
    while ((await get('/search')).status === 200) admitted += 1;
    // At the turn of a minute, a sliding window counter starts to count the minute before for less.
    expect(admitted).toBeGreaterThanOrEqual(30);
    expect(admitted).toBeLessThanOrEqual(32);
  });

  test('an upload costs its megabytes', async () => {
    const first = await upload(11_000_001);
    expect([first.status, await first.json()]).toEqual([201, { bytes: 11_000_001 }]);
    expect(header(first, 'X-RateLimit-Remaining')).toBe(8);
    const denial = await upload(15_000_000);
    expect(denial.status).toBe(429);
    expect((await upload(2_000_000)).status).toBe(201);
    const never = await upload(21_000_000);
    expect([never.status, never.headers.has('Retry-After')]).toEqual([429, false]);
  });

  test('everything is a thousand a minute, pages that are not there among it', async () => {
    const before = (await left()).everything ?? 0;
    const missing = await get('/nowhere');
    expect([missing.status, header(missing, 'X-RateLimit-Limit')]).toEqual([404, 1000]);
    // Unless a minute turned between them.
    expect((await left()).everything).toBeGreaterThanOrEqual(before - 1);
    const all = Array.from({ length: 1100 }, () => get('/nowhere'));
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([404, 429]));
    expect((await get('/health')).status).toBe(200);
  });
});

test('says in a sentence that its port is in use', async () => {
  const server = await startServer(example);
  const another = await startServer({ ...example, env: { PORT: new URL(server.url).port } });
  expect(await another.exited).toBe(1);
  expect(another.output()).toMatch(/^listen EADDRINUSE/);
  server.kill('SIGINT');
  server.kill('SIGINT');
  expect(await server.exited).toBe(0);
});
