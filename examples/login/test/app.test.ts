import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ManualClock } from '@floodgate/core/testing';
import { MemoryStore } from '@floodgate/express';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Express } from 'express';
import { type Accounts, DEMO_USER, demoAccounts } from '../src/accounts.ts';
import { createApp } from '../src/app.ts';
import { curl, readExchanges } from './readme.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** The demo's user, of whom a test may ask how often it was looked up, and make the look-up wait or fail. */
class WatchedAccounts implements Accounts {
  lookUps = 0;
  before: () => Promise<void> = async () => {};
  readonly #accounts = demoAccounts();

  async find(email: string): ReturnType<Accounts['find']> {
    this.lookUps += 1;
    await this.before();
    return this.#accounts.find(email);
  }
}

let clock: ManualClock;
let app: Express;
let accounts: WatchedAccounts;
let server: Server;
let responses: ServerResponse[];

beforeEach(async () => {
  clock = new ManualClock();
  accounts = new WatchedAccounts();
  responses = [];
  app = createApp({ store: new MemoryStore({ clock }), accounts });
  // The test is a proxy of ours, so that it can be many clients.
  app.set('trust proxy', 'loopback');
  server = createServer(app).listen(0, '127.0.0.1');
  server.on('request', (_request, response) => void responses.push(response));
  await once(server, 'listening');
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

interface Attempt {
  readonly password?: string;
  readonly email?: string;
  readonly client?: string;
  readonly signal?: AbortSignal;
}

function send(body: string, { client = '203.0.113.1', signal }: Attempt = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': client },
    body,
    ...(signal && { signal }),
  });
}

function ask(attempt: Attempt = {}): Promise<Response> {
  const { email, password } = { ...DEMO_USER, ...attempt };
  return send(JSON.stringify({ email, password }), attempt);
}

async function signIn(attempt: Attempt = {}): Promise<number> {
  const response = await ask(attempt);
  await response.arrayBuffer();
  return response.status;
}

function guess(attempt: Attempt = {}): Promise<number> {
  return signIn({ password: 'guess', ...attempt });
}

async function guesses(times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < times; i += 1) statuses.push(await guess());
  return statuses;
}

/** How often each status came, of so many attempts at once. */
async function atOnce(times: number, attempt: () => Promise<number>): Promise<object> {
  const counts: Record<number, number> = {};
  for (const status of await Promise.all(Array.from({ length: times }, attempt))) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** Makes look-ups wait until they are let go. */
function holdLookUps(): () => void {
  let letGo = (): void => {};
  const gate = new Promise<void>((done) => {
    letGo = done;
  });
  accounts.before = () => gate;
  return letGo;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

test('answers as the README shows, to the byte', async () => {
  app.set('trust proxy', false);
  const exchanges = readExchanges();
  expect(exchanges).toHaveLength(11);
  const withoutDate = (text: string): string => text.replace(/^Date: .*\n/m, '');
  for (const { line, expected, atMs } of exchanges) {
    if (atMs !== undefined) clock.set(atMs);
    const printed = await curl(line, (server.address() as AddressInfo).port);
    expect(withoutDate(printed)).toBe(withoutDate(expected));
  }
});

describe('failures', () => {
  test('the fifth in 15 minutes blocks for 15 minutes', async () => {
    expect(await guesses(4)).toEqual([401, 401, 401, 401]);
    expect(await signIn()).toBe(200);
    clock.advance(14 * MINUTE);
    expect(await guess()).toBe(401);
    // The first four are forgotten a minute later, but the block is not.
    clock.advance(15 * MINUTE - 1);
    expect([await guess(), await signIn()]).toEqual([429, 429]);
    clock.advance(1);
    expect([await guess(), await signIn()]).toEqual([401, 200]);
    expect(accounts.lookUps).toBe(8);
  });

  test('four in each 15 minutes block nobody', async () => {
    for (let quarter = 0; quarter < 4; quarter += 1) {
      expect(await guesses(4)).toEqual([401, 401, 401, 401]);
      expect(await signIn()).toBe(200);
      clock.advance(15 * MINUTE);
    }
  });

  test('the twentieth of a day blocks for a day', async () => {
    for (let round = 0; round < 3; round += 1) {
      expect(await guesses(6)).toEqual([401, 401, 401, 401, 401, 429]);
      clock.advance(15 * MINUTE);
    }
    expect(await guesses(4)).toEqual([401, 401, 401, 401]);
    expect(await signIn()).toBe(200);
    expect(await guess()).toBe(401);

    const denial = await ask();
    expect(denial.status).toBe(429);
    expect(denial.headers.get('Retry-After')).toBe(String(DAY / 1000));
    expect(await denial.json()).toMatchObject({
      error: {
        message: 'Rate limit exceeded. Try again in 24 hours.',
        policy: 'sign-in-day',
        limits: { 'sign-in': { remaining: 0 }, 'sign-in-day': { limit: 20, remaining: 0 } },
      },
    });
    clock.advance(DAY - 1);
    expect(await signIn()).toBe(429);
    clock.advance(1);
    expect([await signIn(), await guess()]).toEqual([200, 401]);
  });

  test('are those of one address at one e-mail', async () => {
    expect(await guesses(6)).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await signIn({ client: '203.0.113.2' })).toBe(200);
    expect(await guess({ email: 'charles@example.com' })).toBe(401);
    for (const email of ['ADA@example.com', ' ada@EXAMPLE.com\n']) {
      expect(await signIn({ email })).toBe(429);
    }
  });

  test('at an e-mail without an account count, and look, like others', async () => {
    const attempt = { email: 'nobody@example.com' };
    const bodies = new Set<string>();
    for (let i = 0; i < 5; i += 1) {
      const response = await ask(i % 2 === 0 ? attempt : { password: 'guess' });
      expect(response.status).toBe(401);
      bodies.add(await response.text());
    }
    expect(bodies.size).toBe(1);
    expect([await signIn(attempt), await signIn(attempt)]).toEqual([401, 401]);
    expect([await signIn(attempt), await signIn()]).toEqual([429, 200]);
  });
});

describe('at once', () => {
  test('of two hundred guesses five are looked at, and the fifth failure starts the block', async () => {
    const letGo = holdLookUps();
    let denied = 0;
    const sent = atOnce(200, async () => {
      const status = await guess();
      if (status === 429) denied += 1;
      return status;
    });
    await until(() => denied === 195);
    expect(accounts.lookUps).toBe(5);
    // The denials, which are due to what is only reserved, have started no block: it begins here.
    clock.advance(10 * MINUTE);
    letGo();
    expect(await sent).toEqual({ 401: 5, 429: 195 });
    clock.advance(15 * MINUTE - 1);
    expect(await signIn()).toBe(429);
    clock.advance(1);
    expect(await signIn()).toBe(200);
    expect(accounts.lookUps).toBe(6);
  });

  test('twenty right passwords block nobody', async () => {
    const letGo = holdLookUps();
    let denied = 0;
    const sent = atOnce(20, async () => {
      const status = await signIn();
      if (status === 429) denied += 1;
      return status;
    });
    await until(() => denied === 15);
    letGo();
    expect(await sent).toEqual({ 200: 5, 429: 15 });
    // All of it is there again, at the same instant.
    for (let i = 0; i < 10; i += 1) expect(await signIn()).toBe(200);
    expect(await guesses(6)).toEqual([401, 401, 401, 401, 401, 429]);
  });
});

describe('what is given back', () => {
  test('a success, and it forgives no failure', async () => {
    const left: (string | null)[] = [];
    for (const password of ['guess', 'engine', 'guess', 'engine', 'engine', 'guess', 'engine']) {
      left.push((await ask({ password })).headers.get('X-RateLimit-Remaining'));
    }
    expect(left).toEqual(['4', '3', '3', '2', '2', '2', '1']);
    expect(await guesses(3)).toEqual([401, 401, 429]);
  });

  test('what failed by our own fault', async () => {
    accounts.before = () => Promise.reject(new Error('The database is away'));
    for (let i = 0; i < 10; i += 1) expect(await guess()).toBe(500);
    accounts.before = async () => {};
    expect(await guesses(6)).toEqual([401, 401, 401, 401, 401, 429]);
  });

  test('nothing, where the client goes away before it is answered', async () => {
    for (let i = 0; i < 5; i += 1) {
      const letGo = holdLookUps();
      const leaving = new AbortController();
      // With the right password: nobody knows whether it would have been.
      const sent = signIn({ signal: leaving.signal });
      await until(() => accounts.lookUps === i + 1);
      leaving.abort();
      await expect(sent).rejects.toThrow();
      await until(() => responses.every((response) => response.closed));
      letGo();
    }
    expect(await signIn()).toBe(429);
    clock.advance(15 * MINUTE);
    accounts.before = async () => {};
    expect(await signIn()).toBe(200);
  });
});

test.each([
  ['{"password":"engine"}', 400],
  ['{"email":"ada@example.com"}', 400],
  ['{"email":"ada@example.com","password":""}', 400],
  ['{"email":" ","password":"engine"}', 400],
  ['{"email":["ada@example.com"],"password":"engine"}', 400],
  ['{"email":"ada@example.com","password":{}}', 400],
  [`{"email":"${'a'.repeat(250)}@example.com","password":"engine"}`, 400],
  ['[]', 400],
  ['"ada@example.com"', 400],
  ['{ not JSON', 400],
  ['', 400],
  [`{"email":"ada@example.com","password":"${'x'.repeat(1024)}"}`, 413],
])('%.50s is no guess, and not counted', async (body, status) => {
  for (let i = 0; i < 6; i += 1) {
    const response = await send(body);
    expect(response.status).toBe(status);
    expect(response.headers.has('X-RateLimit-Limit')).toBe(false);
    expect(await response.json()).toMatchObject({ error: { code: expect.any(String) } });
  }
  expect(accounts.lookUps).toBe(0);
  expect(await guesses(6)).toEqual([401, 401, 401, 401, 401, 429]);
});
