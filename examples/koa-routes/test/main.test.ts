import { resolve } from 'node:path';
import { type ServerProcess, startServer } from '@floodgate/example-test-support';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';

// A process of its own, on however busy a machine.
jest.setTimeout(120_000);

const example = { cwd: resolve(__dirname, '..') };
const ORIGIN = { Origin: 'https://app.example' };

describe('the server, over a socket', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer(example);
  });
  afterAll(async () => {
    server.kill('SIGTERM');
    await server.exited;
  });

  const get = (path: string): Promise<Response> => fetch(server.url + path, { headers: ORIGIN });
  const post = (path: string, { body = '', authorization = '' } = {}): Promise<Response> =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { ...ORIGIN, Authorization: authorization },
      body,
    });
  const left = async (): Promise<Record<string, { limit: number; remaining: number }>> =>
    ((await (await get('/rate_limit')).json()) as { limits: never }).limits;

  test('asking what is left of each limit uses nothing', async () => {
    const full = {
      'sign-in': { limit: 10, remaining: 10 },
      search: { limit: 30, remaining: 30 },
      uploads: { limit: 20, remaining: 20 },
      'everything-else': { limit: 1000, remaining: 1000 },
    };
    for (let i = 0; i < 20; i += 1) expect(await left()).toMatchObject(full);
    const { headers } = await get('/rate_limit');
    expect(headers.get('X-RateLimit-Limit')).toBeNull();
    expect(headers.get('Cache-Control')).toBe('no-store');
  });

  test('ten sign-ins a minute, right or wrong', async () => {
    const right = `Basic ${Buffer.from('ada:engine').toString('base64')}`;
    const statuses = [(await post('/sign-in', { authorization: right })).status];
    for (let i = 0; i < 9; i += 1) statuses.push((await post('/sign-in')).status);
    expect(statuses).toEqual([200, ...Array<number>(9).fill(401)]);

    const denial = await post('/sign-in', { authorization: right });
    expect(denial.status).toBe(429);
    const retryAfter = Number(denial.headers.get('Retry-After'));
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(await denial.json()).toMatchObject({
      error: { code: 'RATE_LIMITED', policy: 'sign-in', retryAfter },
    });
    expect(await left()).toMatchObject({ 'sign-in': { remaining: 0 }, search: { remaining: 30 } });
  });

  test('a denial says to a script of another origin when to come again', async () => {
    const { status, headers } = await post('/sign-in');
    expect(status).toBe(429);
    expect(headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(headers.get('Access-Control-Expose-Headers')).toContain('Retry-After');
  });

  test('what a browser asks beforehand is not limited', async () => {
    const { status, headers } = await fetch(`${server.url}/sign-in`, {
      method: 'OPTIONS',
      headers: { ...ORIGIN, 'Access-Control-Request-Method': 'POST' },
    });
    expect([status, headers.get('Access-Control-Allow-Methods')]).toEqual([204, 'GET, POST']);
  });

  test('thirty searches a minute', async () => {
    const first = await get('/search?q=tea');
    expect(await first.json()).toEqual({ results: ['black tea', 'green tea'] });
    expect(first.headers.get('X-RateLimit-Limit')).toBe('30');
    let admitted = 1;
    while ((await get('/search')).status === 200) admitted += 1;
    // At the turn of a minute, a sliding window counter starts to count the minute before for less.
    expect(admitted).toBeGreaterThanOrEqual(30);
    expect(admitted).toBeLessThanOrEqual(32);
  });

  test('an upload costs its megabytes', async () => {
    const upload = (bytes: number): Promise<Response> =>
      post('/uploads', { body: 'x'.repeat(bytes) });
    const first = await upload(11_000_001);
    expect(first.status).toBe(201);
    expect(await first.json()).toEqual({ bytes: 11_000_001 });
    expect(first.headers.get('X-RateLimit-Remaining')).toBe('8');

    const denial = await upload(19_000_000);
    expect(denial.status).toBe(429);
    // At least 8 are left, one more comes each 3 seconds, and 19 are needed.
    expect(Number(denial.headers.get('Retry-After'))).toBeLessThanOrEqual(33);
    const never = await upload(21_000_000);
    expect([never.status, never.headers.get('Retry-After')]).toEqual([429, null]);
  });

  test('everything else is a thousand a minute, pages that are not there among it', async () => {
    const responses = [await get('/'), await get('/missing'), await post('/')];
    expect(responses.map(({ status }) => status)).toEqual([200, 404, 405]);
    expect(responses.map(({ headers }) => headers.get('X-RateLimit-Limit'))).toEqual(
      Array(3).fill('1000'),
    );
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)('the process ends by %s', async (signal) => {
  const server = await startServer(example);
  // A connection that is kept alive holds nobody up.
  await (await fetch(server.url)).text();
  server.kill(signal);
  expect(await server.exited).toBe(0);
});
