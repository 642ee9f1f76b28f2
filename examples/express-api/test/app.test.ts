import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ManualClock } from '@floodgate/core/testing';
import { MemoryStore } from '@floodgate/express';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createApp } from '../src/app.ts';

// Thousands of requests, on however busy a machine.
jest.setTimeout(60_000);

// Everything that takes long, by a clock that a test moves.
let clock: ManualClock;
let lines: string[];
let server: Server;
let url: string;

beforeEach(async () => {
  clock = new ManualClock();
  lines = [];
  const app = createApp({ store: new MemoryStore({ clock }), log: (line) => lines.push(line) });
  // The test is a proxy of ours, so that it can be many clients.
  app.set('trust proxy', 'loopback');
  server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

async function ask(
  method: string,
  path: string,
  client = '203.0.113.1',
  body = '',
): Promise<Answer> {
  const headers = { 'X-Forwarded-For': client, 'Content-Type': 'application/json' };
  const response = await fetch(url + path, { method, headers, ...(body !== '' && { body }) });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** How often each status came. */
async function statusesOf(
  times: number,
  send: () => Promise<Answer>,
): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let done = 0; done < times; ) {
    const batch = Array.from({ length: Math.min(20, times - done) }, send);
    for (const { status } of await Promise.all(batch)) counts[status] = (counts[status] ?? 0) + 1;
    done += batch.length;
  }
  return counts;
}

async function left(client?: string): Promise<Record<string, number>> {
  const { limits } = JSON.parse((await ask('GET', '/rate_limit', client)).body) as {
    limits: Record<string, { remaining: number }>;
  };
  return Object.fromEntries(
    Object.entries(limits).map(([name, { remaining }]) => [name, remaining]),
  );
}

const FULL = {
  ceiling: 2000,
  'sign-in': 10,
  search: 30,
  email: 5,
  uploads: 20,
  'everything-else': 1000,
};

test.each([
  ['sign-in', 'POST', '/sign-in', 10],
  ['search', 'GET', '/search', 30],
  ['everything-else', 'GET', '/', 1000],
])('%s: a minute holds its limit, for each client', async (policy, method, path, limit) => {
  const send = () => ask(method, path);
  const served = method === 'POST' ? 401 : 200;
  expect(await statusesOf(limit + 5, send)).toEqual({ [served]: limit, 429: 5 });
  expect(await left()).toMatchObject({ ...FULL, [policy]: 0, ceiling: 2000 - limit });
  expect((await ask(method, path, '203.0.113.2')).status).toBe(served);

  // Retry-After is the moment from which it works.
  const { headers } = await send();
  clock.advance(Number(headers.get('Retry-After')) * 1000);
  expect((await send()).status).toBe(served);
});

test('e-mails wait for their turn, one a second, and a sixth is too many', async () => {
  const statuses: number[] = [];
  const send = async (): Promise<void> => {
    const { status } = await ask('POST', '/emails', undefined, '{"to":"ada@example.com"}');
    statuses.push(status);
  };
  const sent = Array.from({ length: 6 }, send);
  while (clock.sleeping < 4 || statuses.length < 2) await new Promise(setImmediate);
  expect(statuses.sort()).toEqual([202, 429]);
  for (let second = 1; second <= 4; second += 1) {
    clock.advance(999);
    expect(clock.sleeping).toBe(5 - second);
    clock.advance(1);
    expect(clock.sleeping).toBe(4 - second);
  }
  await Promise.all(sent);
  expect(statuses.sort()).toEqual([202, 202, 202, 202, 202, 429]);
  expect(lines.map((line) => line.replace(/^.* {2}(?=email)/, '')).sort()).toEqual([
    'email  allowed  0 left  wait 4 s',
    'email  allowed  1 left  wait 3 s',
    'email  allowed  2 left  wait 2 s',
    'email  allowed  3 left  wait 1 s',
    'email  allowed  4 left  wait 0 s',
    'email  denied   0 left  wait 1 s',
  ]);
});

test('a megabyte of uploads comes back every three seconds', async () => {
  const upload = (megabytes: number): Promise<Answer> =>
    ask('POST', '/uploads', undefined, 'x'.repeat(megabytes * 1_000_000));
  expect((await upload(20)).status).toBe(201);
  const denial = await upload(2);
  expect(denial.status).toBe(429);
  expect(denial.headers.get('Retry-After')).toBe('6');
  clock.advance(5_999);
  expect((await upload(2)).status).toBe(429);
  clock.advance(1);
  expect((await upload(2)).status).toBe(201);
});

test('an upload has to say how long it is', async () => {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(10);
  }
  const headers = { 'X-Forwarded-For': '203.0.113.1' };
  const options = { method: 'POST', headers, body: chunks(), duplex: 'half' };
  expect((await fetch(`${url}/uploads`, options as RequestInit)).status).toBe(411);
});

test('what is denied is not even read', async () => {
  const send = () => ask('POST', '/sign-in', undefined, '{ not JSON');
  expect(await statusesOf(12, send)).toEqual({ 400: 10, 429: 2 });
});

describe('the ceiling', () => {
  test('is one for all clients and all they ask for, and its denial costs nobody anything', async () => {
    expect(await statusesOf(1000, () => ask('GET', '/', '203.0.113.1'))).toEqual({ 200: 1000 });
    expect(await statusesOf(980, () => ask('GET', '/missing', '203.0.113.2'))).toEqual({
      404: 980,
    });
    expect(await statusesOf(10, () => ask('GET', '/search', '203.0.113.3'))).toEqual({ 200: 10 });
    expect(await statusesOf(10, () => ask('POST', '/sign-in', '203.0.113.3'))).toEqual({ 401: 10 });

    const denial = await ask('GET', '/search', '203.0.113.4');
    expect(denial.status).toBe(429);
    expect(denial.headers.get('X-RateLimit-Limit')).toBe('2000');
    expect(JSON.parse(denial.body).error).toMatchObject({
      policy: 'ceiling',
      retryAfter: 1,
      limits: { search: { limit: 30, remaining: 30 }, ceiling: { limit: 2000, remaining: 0 } },
    });
    expect(lines.at(-1)).toBe(
      '2026-01-01T00:00:00.000Z  GET /search  ip:203.0.113.4  ceiling  denied   0 left  wait 0.01 s',
    );
    expect(await left('203.0.113.4')).toEqual({ ...FULL, ceiling: 0 });
    // Asking what is left has no ceiling.
    clock.advance(10);
    expect((await ask('GET', '/search', '203.0.113.4')).status).toBe(200);
    expect(await left('203.0.113.4')).toEqual({ ...FULL, ceiling: 0, search: 29 });
  });

  test('is not used by what a limit denies', async () => {
    await statusesOf(10, () => ask('POST', '/sign-in'));
    expect(await left()).toEqual({ ...FULL, ceiling: 1990, 'sign-in': 0 });
    expect(await statusesOf(100, () => ask('POST', '/sign-in'))).toEqual({ 429: 100 });
    expect(await left()).toEqual({ ...FULL, ceiling: 1990, 'sign-in': 0 });
  });
});

test('a line is a line, whatever was asked for', async () => {
  await ask('GET', `/${'a'.repeat(500)}`);
  await ask('GET', '/%0a%1b[31m');
  expect(lines).toHaveLength(2);
  expect(lines[0]?.length).toBeLessThan(250);
  expect(lines[1]).toMatch(/ {2}GET \/%0a%1b\[31m {2}/);
});
