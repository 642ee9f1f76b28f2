import { HttpLimiter, keys } from '@floodgate/express';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type CommandContext, runLimits, USAGE } from '../src/limits-command.ts';
import { operationsOn } from '../src/operations.ts';
import { customerLimits } from '../src/plans.ts';
import { operationsBy } from '../src/remote-operations.ts';
import {
  OPERATOR,
  OPERATOR_TOKEN,
  startTestServer,
  statusesOf,
  type TestServer,
} from './server.ts';

const ADA = 'demo-ada-laptop';
const ADA_TOO = 'demo-ada-server';
const ADA_ID = keys.apiKey(ADA);

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

const operator = (method: string, path: string, body?: unknown) =>
  server.ask(method, path, OPERATOR, body);

test('who looks uses nothing, and may look at a customer that is over the limit', async () => {
  await statusesOf(11, () => server.quotes(ADA));
  for (let times = 0; times < 50; times += 1) await operator('GET', '/limits/42');
  const { status, headers, json } = await operator('GET', '/limits/42');
  expect(status).toBe(200);
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(headers.get('X-RateLimit-Limit')).toBeNull();
  expect(json()).toEqual({
    user: '42',
    plan: 'free',
    apiKeys: [
      { id: ADA_ID, label: 'laptop' },
      { id: keys.apiKey(ADA_TOO), label: 'server' },
    ],
    blocked: false,
    retryAfter: null,
    limits: {
      perMinute: { limit: 10, remaining: 0, resetAt: expect.any(Number) },
      perDay: { limit: 100, remaining: 90, resetAt: expect.any(Number) },
      burst: { limit: 10, remaining: 0, resetAt: Date.parse('2026-11-30T12:01:24Z') / 1000 },
    },
  });
});

test('a block holds for its time, whatever is left, and can be lifted', async () => {
  await server.quotes(ADA);
  const block = await operator('POST', '/limits/42/block', { duration: '15m' });
  expect([block.status, block.body]).toEqual([204, '']);
  const denial = await server.quotes(ADA);
  expect([denial.status, denial.headers.get('Retry-After')]).toEqual([429, '900']);
  expect((await server.quotes(ADA_TOO)).status).toBe(429);
  expect((await operator('GET', '/limits/42')).json()).toMatchObject({
    blocked: true,
    retryAfter: 900,
    limits: { perMinute: { limit: 10, remaining: 0 } },
  });

  expect((await operator('DELETE', '/limits/42/block')).status).toBe(204);
  expect((await operator('DELETE', '/limits/42/block')).status).toBe(204);
  // What was counted stayed.
  expect((await server.quotes(ADA)).headers.get('RateLimit')).toContain('"perMinute";r=8;');

  await operator('POST', '/limits/42/block', { duration: 1000 });
  server.clock.advance(999);
  expect((await server.quotes(ADA)).status).toBe(429);
  server.clock.advance(1);
  expect((await server.quotes(ADA)).status).toBe(200);
  expect(server.lines.filter((line) => line.startsWith('operator'))).toEqual([
    'operator  user:42  blocked for 15m',
    'operator  user:42  unblocked',
    'operator  user:42  unblocked',
    'operator  user:42  blocked for 1000',
  ]);
});

test('no change of plan lifts a block', async () => {
  await operator('POST', '/limits/42/block', { duration: '15m' });
  for (const plan of ['pro', 'enterprise', 'free']) {
    await operator('PUT', '/users/42/plan', { plan });
    expect((await server.quotes(ADA)).status).toBe(429);
  }
});

test('a reset forgets counts and block, as often as it is asked for', async () => {
  await statusesOf(11, () => server.quotes(ADA));
  await operator('POST', '/limits/42/block', { duration: '1h' });
  for (let times = 0; times < 2; times += 1) {
    expect((await operator('DELETE', '/limits/42')).status).toBe(204);
  }
  expect(await statusesOf(11, () => server.quotes(ADA))).toEqual({ 200: 10, 429: 1 });
});

test('one API key is blocked alone, and no reset of its owner frees it', async () => {
  expect((await operator('POST', `/key-limits/${ADA_ID}/block`, { duration: '1d' })).status).toBe(
    204,
  );
  expect((await operator('DELETE', '/limits/42')).status).toBe(204);
  expect((await server.quotes(ADA)).status).toBe(429);
  expect((await server.quotes(ADA_TOO)).status).toBe(200);
  expect((await operator('GET', `/key-limits/${ADA_ID}`)).json()).toEqual({
    id: ADA_ID,
    label: 'laptop',
    user: '42',
    blocked: true,
    retryAfter: 86_400,
    limits: { apiKey: { limit: 1200, remaining: 0, resetAt: expect.any(Number) } },
  });
  expect((await operator('DELETE', `/key-limits/${ADA_ID}/block`)).status).toBe(204);
  expect((await server.quotes(ADA)).status).toBe(200);
  expect((await operator('DELETE', `/key-limits/${ADA_ID}`)).status).toBe(204);
});

test.each([
  ['no duration', {}],
  ['none at all', undefined],
  ['an empty one', { duration: '' }],
  ['a negative one', { duration: '-5m' }],
  ['nothing', { duration: 0 }],
  ['a word', { duration: 'soon' }],
  ['a number without a unit', { duration: '15' }],
  ['a fraction', { duration: 0.5 }],
  ['a list', { duration: ['15m'] }],
])('a block for %s is 400, and blocks nobody', async (_, body) => {
  const { status, json } = await operator('POST', '/limits/42/block', body);
  expect(status).toBe(400);
  expect(json()).toMatchObject({ error: { code: 'WRONG_DURATION' } });
  expect((await server.quotes(ADA)).status).toBe(200);
});

test.each([
  ['GET', '/limits/7'],
  ['DELETE', '/limits/7'],
  ['POST', '/limits/7/block'],
  ['DELETE', '/limits/7/block'],
  ['GET', '/limits/042'],
  ['GET', '/limits/42%20'],
  ['GET', '/limits/__proto__'],
  ['GET', `/key-limits/${keys.apiKey('nobody')}`],
  ['POST', `/key-limits/${ADA}/block`],
])('%s %s: there is nobody like that', async (method, path) => {
  const body = method === 'POST' ? { duration: '15m' } : undefined;
  const answer = await operator(method, path, body);
  expect(answer.status).toBe(404);
  expect(answer.json()).toMatchObject({ error: { code: 'NOBODY' } });
  expect(answer.body).not.toContain(ADA);
  expect(server.store.size).toBe(0);
});

test('what is no JSON, and no URL, is 400', async () => {
  expect((await operator('POST', '/limits/42/block', '{ not')).status).toBe(400);
  expect((await operator('POST', '/limits/42/block', 'null')).status).toBe(400);
  expect((await operator('GET', '/limits/%zz')).status).toBe(400);
});

describe('who is no operator', () => {
  const requests = [
    ['GET', '/metrics'],
    ['GET', '/limits/42'],
    ['DELETE', '/limits/42'],
    ['POST', '/limits/42/block'],
    ['DELETE', '/limits/42/block'],
    ['GET', '/limits/7'],
    ['PUT', '/users/42/plan'],
    ['DELETE', `/key-limits/${ADA_ID}`],
  ] as const;

  test.each([
    ['no token', {}],
    ['an empty one', { Authorization: 'Bearer ' }],
    ['a wrong one', { Authorization: `Bearer ${OPERATOR_TOKEN}x` }],
    ['half of it', { Authorization: `Bearer ${OPERATOR_TOKEN.slice(0, 10)}` }],
    ['it by another scheme', { Authorization: `Basic ${OPERATOR_TOKEN}` }],
    ["a customer's key", { 'X-API-Key': ADA }],
  ])('%s opens nothing', async (_, headers) => {
    for (const [method, path] of requests) {
      const body = method === 'GET' || method === 'DELETE' ? undefined : { duration: '15m' };
      const answer = await server.ask(method, path, headers, body);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer realm="operator"');
    }
    expect((await server.quotes(ADA)).status).toBe(200);
  });

  test('may guess thirty tokens a minute, and no customer is kept out by it', async () => {
    const wrong = () => server.ask('GET', '/limits/42', { Authorization: 'Bearer wrong' });
    expect(await statusesOf(40, wrong)).toEqual({ 401: 30, 429: 10 });
    expect((await operator('GET', '/limits/42')).status).toBe(429);
    expect((await server.quotes(ADA)).status).toBe(200);
    server.clock.advance(60_000);
    expect((await operator('GET', '/limits/42')).status).toBe(200);
  });
});

describe('the command', () => {
  let printed: string;
  let complaints: string;
  beforeEach(() => {
    printed = '';
    complaints = '';
  });

  const context = (operations: CommandContext['operations'], input = ''): CommandContext => ({
    operations,
    input: async () => input,
    print: (text) => {
      printed += text;
    },
    complain: (text) => {
      complaints += text;
    },
  });
  const paths = [
    ["by the server's routes", () => operationsBy({ url: server.url, token: OPERATOR_TOKEN })],
    [
      'on the store that the server has',
      () => {
        // As a script has it, that shares the server's store and table.
        const { accounts, store } = server;
        const limiter = new HttpLimiter({ ...customerLimits(accounts), store });
        return operationsOn(limiter, accounts);
      },
    ],
  ] as const;

  describe.each(paths)('%s', (_, operations) => {
    const run = (...args: string[]) => runLimits(args, context(operations()));

    test('sees what the server counted, and changes what it counts', async () => {
      await statusesOf(11, () => server.quotes(ADA));
      expect(await run('inspect', 'user', '42')).toBe(0);
      expect(JSON.parse(printed)).toEqual((await operator('GET', '/limits/42')).json());
      expect(printed).toContain('"perMinute": {\n      "limit": 10,\n      "remaining": 0,');

      expect(await run('reset', 'user', '42')).toBe(0);
      expect((await server.quotes(ADA)).headers.get('X-RateLimit-Remaining')).toBe('9');

      expect(await run('block', 'user', '42', '15m')).toBe(0);
      expect((await server.quotes(ADA)).headers.get('Retry-After')).toBe('900');
      expect(await run('unblock', 'user', '42')).toBe(0);
      expect((await server.quotes(ADA)).headers.get('RateLimit')).toContain('"perMinute";r=8;');
      expect(complaints).toBe('');
    });

    test('does the same with one API key, by its id or read from standard input', async () => {
      expect(await run('block', 'key', ADA_ID, '1h')).toBe(0);
      expect((await server.quotes(ADA)).status).toBe(429);
      expect((await server.quotes(ADA_TOO)).status).toBe(200);
      const run2 = (...args: string[]) => runLimits(args, context(operations(), `${ADA}\n`));
      expect(await run2('inspect', 'key', '-')).toBe(0);
      expect(JSON.parse(printed)).toMatchObject({ id: ADA_ID, label: 'laptop', blocked: true });
      expect(await run2('unblock', 'key', '-')).toBe(0);
      expect((await server.quotes(ADA)).status).toBe(200);
      expect(printed + complaints + server.lines.join()).not.toContain('demo-ada');
    });

    test.each([
      [['inspect', 'user', '7'], 'There is no such user\n'],
      [['block', 'user', '7', '15m'], 'There is no such user\n'],
      [['reset', 'user', '../metrics'], 'There is no such user\n'],
      [['unblock', 'key', keys.apiKey('nobody')], 'There is no such API key\n'],
      [['inspect', 'key', '-'], 'Expected an API key from standard input, got nothing\n'],
      [['block', 'user', '42', 'soon'], expect.stringMatching(/^Expected `duration` to be .*\n$/)],
    ])('%j fails, and says so', async (args, complaint) => {
      expect(await run(...args)).toBe(1);
      expect({ complaints, printed }).toEqual({ complaints: complaint, printed: '' });
    });
  });

  test.each([
    [],
    ['list'],
    ['inspect', 'user'],
    ['inspect', 'users', '42'],
    ['inspect', 'user', '42', '15m'],
    ['block', 'user', '42'],
    ['block', 'user', '42', '15m', 'please'],
  ])('%j %j %j %j %j is not understood', async (...args) => {
    const remote = operationsBy({ url: server.url, token: OPERATOR_TOKEN });
    expect(await runLimits(args.filter(Boolean) as string[], context(remote))).toBe(2);
    expect(complaints).toBe(USAGE);
  });

  test('an API key on the command line is neither sent nor shown', async () => {
    const remote = operationsBy({ url: 'http://localhost:1', token: OPERATOR_TOKEN });
    expect(await runLimits(['block', 'key', ADA, '1h'], context(remote))).toBe(2);
    expect(complaints).toBe(
      'Expected the id of an API key, or - for the key itself from standard input\n',
    );
  });

  test('says what is wrong with the token, and needs no slash at the end of the address', async () => {
    const run = (url: string, token: string) =>
      runLimits(['inspect', 'user', '42'], context(operationsBy({ url, token })));
    expect(await run(server.url, 'wrong')).toBe(1);
    expect(await run(`${server.url}/`, OPERATOR_TOKEN)).toBe(0);
    expect(complaints).toBe("Expected the operator's token in Authorization.\n");
  });
});
