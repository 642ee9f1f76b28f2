import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keys } from '@floodgate/express';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Accounts, MemoryAccounts } from '../src/accounts.ts';
import { createApp } from '../src/app.ts';
import {
  OPERATOR,
  OPERATOR_TOKEN,
  startTestServer,
  statusesOf,
  type TestServer,
} from './server.ts';

// Thousands of requests, on however busy a machine.
jest.setTimeout(60_000);

const ADA = 'demo-ada-laptop';
const ADA_TOO = 'demo-ada-server';
const GRACE = 'demo-grace-server';
const KATHERINE = 'demo-katherine-fleet';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

const operator = (method: string, path: string, body?: unknown) =>
  server.ask(method, path, OPERATOR, body);

/** What is left of each limit, by the operator's route. */
async function left(id: string, path = '/limits'): Promise<Record<string, number>> {
  const { limits } = (await operator('GET', `${path}/${id}`)).json() as {
    limits: Record<string, { remaining: number }>;
  };
  return Object.fromEntries(
    Object.entries(limits).map(([name, { remaining }]) => [name, remaining]),
  );
}

describe('plans', () => {
  test.each([
    ['free', ADA, 10, 'perMinute', '"perMinute";q=10;w=60, "perDay";q=100;w=86400, "burst";q=10'],
    ['pro', GRACE, 50, 'burst', '"perMinute";q=100;w=60, "perDay";q=10000;w=86400, "burst";q=50'],
  ])('%s admits at once what it says', async (plan, apiKey, admitted, policy, stated) => {
    expect(await statusesOf(admitted + 5, () => server.quotes(apiKey))).toEqual({
      200: admitted,
      429: 5,
    });
    const denial = await server.quotes(apiKey);
    expect(denial.headers.get('RateLimit-Policy')).toContain(stated);
    expect(denial.json()).toMatchObject({
      error: {
        code: 'RATE_LIMITED',
        policy,
        plan,
        upgradeUrl: `https://example.com/pricing?from=${plan}`,
      },
    });
    // Retry-After is the moment from which it works.
    server.clock.advance(Number(denial.headers.get('Retry-After')) * 1000);
    expect((await server.quotes(apiKey)).status).toBe(200);
  });

  test('enterprise has limits of its own, and nothing larger to be sold', async () => {
    const { headers } = await server.quotes(KATHERINE);
    expect(headers.get('RateLimit-Policy')).toBe(
      '"contract";q=1000;w=20, "perMonth";q=20000000;w=2592000, "apiKey";q=1200;w=60',
    );
    // The ceiling takes 500 at once, and 200 a second: slower than that, 1000 get through.
    let admitted = 1;
    for (let batch = 0; batch < 3; batch += 1) {
      admitted += (await statusesOf(400, () => server.quotes(KATHERINE)))[200] ?? 0;
      server.clock.advance(2000);
    }
    // 1000 at first, 50 a second for 4 of the 6 seconds.
    expect(admitted).toBe(1200);
    const { error } = (await server.quotes(KATHERINE)).json() as { error: object };
    expect(error).toMatchObject({ policy: 'apiKey', plan: 'enterprise' });
    expect(error).not.toHaveProperty('upgradeUrl');
  });

  test("a user's API keys share the user's limits, and each has one of its own", async () => {
    expect(await statusesOf(6, () => server.quotes(ADA))).toEqual({ 200: 6 });
    expect(await statusesOf(6, () => server.quotes(ADA_TOO))).toEqual({ 200: 4, 429: 2 });
    expect(await left(keys.apiKey(ADA), '/key-limits')).toEqual({ apiKey: 1194 });
    expect(await left(keys.apiKey(ADA_TOO), '/key-limits')).toEqual({ apiKey: 1196 });
    // Nobody else's.
    expect((await server.quotes(GRACE)).status).toBe(200);
  });

  test('a larger plan holds at once, and what was used stays used', async () => {
    expect(await statusesOf(11, () => server.quotes(ADA))).toEqual({ 200: 10, 429: 1 });
    expect(await left('42')).toEqual({ perMinute: 0, perDay: 90, burst: 0 });
    expect((await operator('PUT', '/users/42/plan', { plan: 'pro' })).status).toBe(204);
    expect(await left('42')).toEqual({ perMinute: 90, perDay: 9990, burst: 40 });
    const { status, headers } = await server.quotes(ADA);
    expect(status).toBe(200);
    expect(headers.get('RateLimit')).toContain('"perMinute";r=89;');

    // And back again, at once as well.
    expect((await operator('PUT', '/users/42/plan', { plan: 'free' })).status).toBe(204);
    expect((await server.quotes(ADA)).json()).toMatchObject({ error: { plan: 'free' } });
    expect(server.lines).toContain('operator  user:42  has the plan pro');
  });

  test('a wrong plan is told, and nobody has it', async () => {
    for (const body of [{ plan: 'gold' }, { plan: 'constructor' }, {}, undefined, 'null']) {
      expect((await operator('PUT', '/users/42/plan', body)).status).toBe(400);
    }
    expect((await operator('PUT', '/users/7/plan', { plan: 'pro' })).status).toBe(404);
    expect(await server.accounts.planOf('42')).toBe('free');
  });
});

describe('all or nothing', () => {
  test('what the minute denies, the day does not count, nor the key, nor the ceiling', async () => {
    await statusesOf(10, () => server.quotes(ADA));
    const before = [await left('42'), await left(keys.apiKey(ADA), '/key-limits')];
    expect(await statusesOf(100, () => server.quotes(ADA))).toEqual({ 429: 100 });
    expect([await left('42'), await left(keys.apiKey(ADA), '/key-limits')]).toEqual(before);
    // All 490 that are left of the ceiling: Katherine gets them.
    expect(await statusesOf(500, () => server.quotes(KATHERINE))).toEqual({ 200: 490, 503: 10 });
  });

  test('what the day denies, the minute does not count', async () => {
    for (let batch = 0; batch < 10; batch += 1) {
      expect(await statusesOf(10, () => server.quotes(ADA))).toEqual({ 200: 10 });
      server.clock.advance(120_000);
    }
    expect(await left('42')).toEqual({ perMinute: 10, perDay: 0, burst: 10 });
    const denial = await server.quotes(ADA);
    expect(denial.json()).toMatchObject({ error: { policy: 'perDay' } });
    expect(await left('42')).toEqual({ perMinute: 10, perDay: 0, burst: 10 });
  });

  test('the ceiling is for all together, hidden, and uses nothing of whom it denies', async () => {
    expect(await statusesOf(500, () => server.quotes(KATHERINE))).toEqual({ 200: 500 });
    const { status, headers, json } = await server.quotes(ADA);
    expect(status).toBe(503);
    expect(headers.get('Retry-After')).toBe('1');
    expect(headers.get('RateLimit-Policy')).not.toContain('ceiling');
    expect(json()).toEqual({
      error: {
        code: 'RATE_LIMITED',
        message: 'Too many requests at this time. Try again in 1 second.',
        retryAfter: 1,
        resetAt: expect.any(Number),
        limits: {
          perMinute: { limit: 10, remaining: 10 },
          perDay: { limit: 100, remaining: 100 },
          burst: { limit: 10, remaining: 10 },
          apiKey: { limit: 1200, remaining: 1200 },
        },
        plan: 'free',
      },
    });
    expect(await left('42')).toEqual({ perMinute: 10, perDay: 100, burst: 10 });
    expect(server.lines.at(-1)).toMatch(/^denied {2}global {2}ceiling {2}\d+ ms$/);
  });
});

describe('who is no customer', () => {
  test.each([
    ['without an API key', {}],
    ['with an empty one', { 'X-API-Key': '' }],
    ['with an unknown one', { 'X-API-Key': 'demo-ada-laptopp' }],
    ["with a key's id for the key", { 'X-API-Key': keys.apiKey(ADA) }],
    ["with the operator's token", { ...OPERATOR }],
  ])('%s gets 401, and no key is counted', async (_, headers) => {
    const answer = await server.ask('GET', '/v1/quotes', headers);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('WWW-Authenticate')).toBe('ApiKey realm="customers"');
    expect(answer.headers.get('RateLimit-Policy')).toBeNull();
    expect(answer.json()).toEqual({
      error: { code: 'UNAUTHORIZED', message: 'Expected a valid API key in X-API-Key.' },
    });
    // Of the address alone.
    expect(server.store.size).toBe(1);
    expect(await left('42')).toEqual({ perMinute: 10, perDay: 100, burst: 10 });
  });

  test('may guess thirty keys a minute, and then is not even heard', async () => {
    let guesses = 0;
    const guess = () => server.quotes(`guess ${guesses++}`);
    expect(await statusesOf(40, guess)).toEqual({ 401: 30, 429: 10 });
    const denial = await server.quotes(ADA);
    expect(denial.status).toBe(429);
    expect(denial.json()).toMatchObject({
      error: { message: 'Too many requests without a valid API key.', policy: 'unknownKeys' },
    });
    expect(await left('42')).toEqual({ perMinute: 10, perDay: 100, burst: 10 });
    // The same key from elsewhere, and the operator from here.
    expect((await server.quotes(ADA, '203.0.113.2')).status).toBe(200);
    expect((await operator('GET', '/limits/42')).status).toBe(200);
    server.clock.advance(Number(denial.headers.get('Retry-After')) * 1000);
    expect((await server.quotes(ADA)).status).toBe(200);
  });

  test('is told that it is our mistake where a socket has no address, and is not left waiting', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'floodgate-saas-plans-'));
    const socketPath = join(folder, 'socket');
    const app = createApp({ operatorToken: OPERATOR_TOKEN });
    const local = createServer(app).listen(socketPath);
    try {
      await once(local, 'listening');
      const asked = request({ socketPath, path: '/v1/quotes', headers: { 'X-API-Key': ADA } });
      const [response] = (await once(asked.end(), 'response')) as [IncomingMessage];
      response.resume();
      expect(response.statusCode).toBe(500);
    } finally {
      local.closeAllConnections();
      local.close();
      rmSync(folder, { recursive: true });
    }
  });

  test('no guess is counted for requests with a right key, however many are under way', async () => {
    const sent = Array.from({ length: 100 }, () => server.quotes(KATHERINE));
    expect((await Promise.all(sent)).every(({ status }) => status === 200)).toBe(true);
  });
});

describe('look-ups of plans', () => {
  /** The table behind a database that a test holds up, or breaks. */
  function slowAccounts(accounts: MemoryAccounts) {
    const asked = { apiKey: 0, planOf: 0 };
    let answer = (): void => {};
    const gate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let failure: Error | undefined;
    const slow: Accounts = {
      apiKey(id) {
        asked.apiKey += 1;
        return accounts.apiKey(id);
      },
      async planOf(user) {
        asked.planOf += 1;
        await gate;
        if (failure !== undefined) throw failure;
        return accounts.planOf(user);
      },
      apiKeysOf: (user) => accounts.apiKeysOf(user),
      setPlan: (user, plan) => accounts.setPlan(user, plan),
    };
    const fail = (error: Error | undefined): void => {
      failure = error;
    };
    return { slow, asked, answer: () => answer(), fail };
  }

  async function startSlowly() {
    await server.close();
    let database: ReturnType<typeof slowAccounts> | undefined;
    server = await startTestServer({
      wrap(accounts) {
        database = slowAccounts(accounts);
        return database.slow;
      },
    });
    return database as ReturnType<typeof slowAccounts>;
  }

  test('that are under way are shared by the requests of one user', async () => {
    const { asked, answer } = await startSlowly();
    const sent = [ADA, ADA_TOO, ADA, GRACE, ADA_TOO].map((apiKey) => server.quotes(apiKey));
    while (asked.apiKey < 5) await new Promise(setImmediate);
    // The answers of the look-ups by API key, and what follows from them.
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    expect(asked).toEqual({ apiKey: 5, planOf: 2 });
    answer();
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(Array(5).fill(200));
    // One that is over is not remembered: a change of plan would not be seen.
    await server.quotes(ADA);
    expect(asked.planOf).toBe(3);
  });

  test('that fail are our mistake, and use nothing', async () => {
    const { answer, fail } = await startSlowly();
    answer();
    fail(new Error('The database is away'));
    const failed = await server.quotes(ADA);
    expect(failed.status).toBe(500);
    expect(failed.json()).toEqual({
      error: { code: 'INTERNAL_ERROR', message: 'Something went wrong on our side.' },
    });
    expect(server.lines).toEqual(['failed  The database is away']);
    fail(undefined);
    expect((await server.quotes(ADA)).headers.get('X-RateLimit-Remaining')).toBe('9');
  });
});
