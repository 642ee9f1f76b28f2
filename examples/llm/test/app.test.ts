import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Answer, type Question, serve, type TestServer } from './server.ts';

let server: TestServer;
beforeEach(async () => {
  server = await serve();
});
afterEach(() => server.close());

const json = { 'content-type': 'application/json' };

function question(path: string, prompt: string, maxTokens: number, key = 'ada'): Question {
  const body = JSON.stringify({ prompt, max_tokens: maxTokens });
  return { path, headers: { ...json, 'x-api-key': key }, body };
}

const stream = (prompt: string, maxTokens: number, key?: string): Question =>
  question('/answers/stream', prompt, maxTokens, key);
const whole = (prompt: string, maxTokens: number): Question =>
  question('/answers', prompt, maxTokens);

async function ask(asked: Question): Promise<Answer> {
  const [answer] = await server.ask(asked);
  return answer as Answer;
}

async function left(key = 'ada'): Promise<Record<'requests' | 'tokens', number>> {
  const { body } = await ask({ path: '/rate_limit', headers: { 'x-api-key': key } });
  return JSON.parse(body).left;
}

/** The bucket gets ten tokens a second back, and the model takes 20 ms for each. */
const backWhileGenerating = (tokens: number): number => tokens / 5;

describe('a stream', () => {
  test('reserves an estimate, and gives back what was not used', async () => {
    const answer = await ask(stream('Count to 50', 497));
    expect(answer.status).toBe(200);
    expect(answer.headers['ratelimit-policy']).toBe('"requests";q=20;w=60, "tokens";q=600;w=60');
    expect(answer.headers.ratelimit).toBe('"requests";r=19;t=60, "tokens";r=100;t=50');
    expect(answer.body.match(/event: token/g)).toHaveLength(50);
    expect(answer.body).toMatch(/event: done\ndata: {"usage":{"prompt":3,"completion":50}}\n\n$/);
    expect(await left()).toEqual({ requests: 19, tokens: 600 - 53 + backWhileGenerating(50) });
  });

  test('is charged more than was reserved where it used more', async () => {
    // Two characters a token: the estimate is 20 + 1.
    const answer = await ask(stream('a '.repeat(40), 1));
    expect(answer.headers.ratelimit).toContain('"tokens";r=579');
    expect(await left()).toEqual({ requests: 19, tokens: 600 - 41 });
  });

  test('may run into debt, which is worked off before the next', async () => {
    // The estimate is capped at the capacity: else nobody could ever ask for as much.
    const answer = await ask(stream('Count to 900', 2000));
    expect(answer.headers.ratelimit).toContain('"tokens";r=0');
    // 903 used, of which 180 came back while the model spoke: 123 more than there are.
    expect(await left()).toEqual({ requests: 19, tokens: 0 });

    const denial = await ask(stream('Hi', 1));
    expect([denial.status, denial.headers['retry-after']]).toEqual([429, '13']);
    server.clock.advance(12_499);
    expect((await ask(stream('Hi', 1))).status).toBe(429);
    server.clock.advance(1);
    expect((await ask(stream('Hi', 1))).status).toBe(200);
  });

  test('that is cut off pays for what was generated, once', async () => {
    await ask(stream('Count to 300', 300));
    const before = (await left()).tokens;
    expect(before).toBe(600 - 303 + backWhileGenerating(300));
    await ask({ ...stream('Count to 300', 300), maxMs: 1000 });
    const after = before - (3 + 50) + backWhileGenerating(50);
    expect(await left()).toEqual({ requests: 18, tokens: after });
    // The model has stopped: nobody waits for its next token, and nothing is settled again.
    expect(server.clock.sleeping).toBe(0);
    server.clock.advance(1000);
    expect((await left()).tokens).toBe(after + 10);
  });

  test('costs nothing where one hangs up before the first token', async () => {
    await ask({ ...stream('Count to 300', 300), maxMs: 0 });
    expect(await left()).toEqual({ requests: 19, tokens: 600 });
  });

  test('costs nothing where the model fails before the first token', async () => {
    const answer = await ask(stream('Fail at 1', 300));
    expect([answer.status, JSON.parse(answer.body).message]).toEqual([502, 'The model failed']);
    expect(answer.headers.ratelimit).toContain('"tokens";r=297');
    expect(await left()).toEqual({ requests: 19, tokens: 600 });
  });

  test('costs what was generated where the model fails later', async () => {
    const answer = await ask(stream('Count to 300, and fail at 51', 300));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatch(/event: error\ndata: .*{"prompt":7,"completion":50}}\n\n$/);
    expect(await left()).toEqual({ requests: 19, tokens: 600 - 57 + backWhileGenerating(50) });
  });
});

describe('a whole answer', () => {
  test('is settled by hand, at half the price', async () => {
    const answer = await ask(whole('Count to 50', 300));
    expect(JSON.parse(answer.body)).toMatchObject({
      usage: { prompt: 3, completion: 50 },
      charged: 27,
    });
    expect((await left()).tokens).toBe(600 - 27 + backWhileGenerating(50));
  });

  test('may have no token, and costs nothing then', async () => {
    const { status, body } = await ask(whole('Count to 0', 300));
    expect([status, JSON.parse(body)]).toEqual([200, { text: '', charged: 0 }]);
    expect(await left()).toEqual({ requests: 19, tokens: 600 });
  });

  test('costs nothing where the model fails, at whatever token', async () => {
    expect((await ask(whole('Count to 300, and fail at 50', 300))).status).toBe(502);
    expect(await left()).toEqual({ requests: 19, tokens: 600 });
  });

  test('is paid by the token where the client does not wait for it', async () => {
    const { status } = await ask({ ...whole('Count to 300', 300), maxMs: 1000 });
    expect(status).toBeUndefined();
    expect(server.clock.sleeping).toBe(0);
    expect((await left()).tokens).toBe(600 - 53 + backWhileGenerating(50));
  });
});

test('requests at the same time do not overrun the budget by what they may cost', async () => {
  const answers = await server.ask(...Array(5).fill(stream('Count to 50', 247)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429]);
  const denial = answers.find(({ status }) => status === 429);
  expect(denial?.headers['retry-after']).toBe('15');
  expect(JSON.parse(denial?.body ?? '')).toEqual({
    error: {
      code: 'RATE_LIMITED',
      message: 'Rate limit exceeded. Try again in 15 seconds.',
      retryAfter: 15,
      resetAt: Date.parse('2026-11-30T12:00:15Z') / 1000,
      policy: 'tokens',
      limits: {
        requests: { limit: 20, remaining: 18 },
        tokens: { limit: 600, remaining: 100 },
      },
    },
  });
  // The three that were denied used no request either.
  expect(await left()).toEqual({ requests: 18, tokens: 600 - 2 * 53 + backWhileGenerating(50) });
});

test('twenty requests a minute, however little they cost; what is denied costs no token', async () => {
  for (let i = 0; i < 20; i += 1) expect((await ask(stream('Fail at 1', 1))).status).toBe(502);
  const denial = await ask(stream('Count to 50', 300));
  expect([denial.status, JSON.parse(denial.body).error.policy]).toEqual([429, 'requests']);
  expect(await left()).toEqual({ requests: 0, tokens: 600 });
});

test('each key has limits of its own', async () => {
  await ask(stream('Count to 50', 300, 'ada'));
  expect(await left('bob')).toEqual({ requests: 20, tokens: 600 });
});

test.each<[number, Partial<Question>]>([
  [401, { headers: json }],
  [401, { headers: { ...json, 'x-api-key': 'eve' } }],
  [400, { body: '{"prompt":" "}' }],
  [400, { body: '{"prompt":"Hi","max_tokens":0}' }],
  [400, { body: '{"prompt":"Hi","max_tokens":1.5}' }],
  [400, { body: '{' }],
  [404, { path: '/elsewhere' }],
])('answers %i before anything is counted: %j', async (status, part) => {
  expect((await ask({ ...stream('Hi', 1), ...part })).status).toBe(status);
  expect(await left()).toEqual({ requests: 20, tokens: 600 });
});
