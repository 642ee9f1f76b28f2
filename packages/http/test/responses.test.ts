import { FloodgateError, MemoryStore, type Store } from '@floodgate/core';
import { FailingStore, ManualClock } from '@floodgate/core/testing';
import { describe, expect, test } from '@jest/globals';
import { type Denial, HttpLimiter, type Outcome } from '../src/index.ts';
import { body, header, inTurn, type Options, status } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');

/** What a limiter answers that denies everything for the rest of the minute. */
async function denied(options: Partial<Options> = {}, request: TestRequest = {}): Promise<Denial> {
  const clock = new ManualClock(NOON_MS + 40_200);
  const limiter = new HttpLimiter<TestRequest>({
    quota: 'fixed-window 1/1m',
    store: new MemoryStore({ clock }),
    ...options,
  } as Options);
  await limiter.decide(new TestView());
  const outcome = (await limiter.decide(new TestView(request))) as Outcome;
  expect(outcome.action).toBe('deny');
  return outcome as Denial;
}

const PERMIN_AND_PERDAY = {
  quota: undefined,
  policies: [
    { name: 'permin', quota: 'fixed-window 1/1m' },
    { name: 'perday', quota: 'fixed-window 1000/1d' },
  ],
};

describe('the problem body (RFC 9457)', () => {
  test('names the policies that denied, byte for byte', async () => {
    const denial = await denied({ ...PERMIN_AND_PERDAY, body: 'problem' } as Options);
    expect(denial.body).toEqual({
      contentType: 'application/problem+json',
      content:
        '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded",' +
        '"status":429,"violated-policies":["permin"]}',
    });
    expect(Buffer.byteLength(denial.body?.content ?? '')).toBe(142);
  });

  test('names both where both denied, and the longer wait', async () => {
    const denial = await denied({
      policies: PERMIN_AND_PERDAY.policies.map(({ name }) => ({
        name,
        quota: `fixed-window 1/${name === 'permin' ? '1m' : '1d'}`,
      })),
      quota: undefined,
      body: 'problem',
    } as Options);
    expect(body(denial)).toMatchObject({ 'violated-policies': ['permin', 'perday'] });
    expect(Buffer.byteLength(denial.body?.content ?? '')).toBe(151);
    expect(header(denial, 'Retry-After')).toBe(String(12 * 3600 - 40));
  });

  test('has the status that is sent, and its own type for 503', async () => {
    expect(body(await denied({ body: 'problem', statusCode: 403 }))).toMatchObject({
      status: 403,
      title: 'Quota Exceeded',
    });
    expect(body(await denied({ body: 'problem', statusCode: 503 }))).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Temporary Reduced Capacity',
      status: 503,
      'violated-policies': ['default'],
    });
  });

  test('tells a message of one’s own as its detail', async () => {
    expect(body(await denied({ body: 'problem', message: () => 'Slow down.' }))).toMatchObject({
      detail: 'Slow down.',
    });
  });

  test('says where the store is what failed', async () => {
    const store = new FailingStore(new MemoryStore());
    store.fail();
    const denial = await denied({
      store,
      onStoreError: 'deny',
      body: 'problem',
      onEvent: () => {},
    });
    expect(status(denial)).toBe(503);
    expect(body(denial)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Temporary Reduced Capacity',
      status: 503,
      'violated-policies': [],
      code: 'RATE_LIMITER_UNAVAILABLE',
    });
  });
});

describe('a body function', () => {
  test.each<[string, unknown, string | undefined, string | undefined]>([
    ['a text', 'No.', 'text/plain; charset=utf-8', 'No.'],
    ['an empty text', '', 'text/plain; charset=utf-8', ''],
    ['an object', { no: 1 }, 'application/json; charset=utf-8', '{"no":1}'],
    ['a list', [1], 'application/json; charset=utf-8', '[1]'],
    ['false', false, 'application/json; charset=utf-8', 'false'],
    ['bytes', new Uint8Array([110, 111]).subarray(1), 'application/octet-stream', 'o'],
    ['a promise', Promise.resolve({ no: 1 }), 'application/json; charset=utf-8', '{"no":1}'],
    ['nothing', undefined, undefined, undefined],
    ['null', null, undefined, undefined],
  ])('may answer %s', async (_, answer, contentType, content) => {
    const denial = await denied({ body: () => answer });
    expect(status(denial)).toBe(429);
    expect(denial.body?.contentType).toBe(contentType);
    expect(denial.body?.content.toString()).toBe(content);
  });

  test('gets the verdict and the request', async () => {
    const denial = await denied(
      {
        body: (verdict, request) => ({ user: request.user, policy: verdict.tightest.policy }),
      },
      { user: 'ann' },
    );
    expect(body(denial)).toEqual({ user: 'ann', policy: 'default' });
  });

  test.each<[string, unknown]>([
    ['a function', () => {}],
    ['a bigint', { n: 1n }],
    ['a circle', circle()],
  ])('that answers %s is an error that names the option', async (_, answer) => {
    await expect(denied({ body: inTurn(answer) })).rejects.toThrow(/`body`.*JSON can hold/);
    await expect(denied({ body: inTurn(answer) })).rejects.toBeInstanceOf(FloodgateError);
  });
});

test('a store that failed is not what a request over another limit is told of', async () => {
  const failing = new FailingStore(new MemoryStore());
  failing.fail();
  const denial = await denied({
    quota: undefined,
    policies: [
      { name: 'over', quota: 'fixed-window 0/1m' },
      { name: 'failed', quota: 'fixed-window 5/1m', store: failing, onStoreError: 'deny' },
    ],
    onEvent: () => {},
  } as unknown as Options);
  expect([denial.status, denial.reason]).toEqual([429, 'limit']);
  expect(header(denial, 'X-RateLimit-Limit')).toBe('0');
  expect(body(denial)).toMatchObject({ error: { policy: 'over' } });
  expect(JSON.stringify(body(denial))).not.toContain('failed');
});

describe('a hidden policy', () => {
  const limits = {
    quota: undefined,
    policies: [
      { name: 'user', quota: 'fixed-window 5/1m' },
      { name: 'ceiling', quota: 'fixed-window 1/1h', hidden: true, statusCode: 503 },
    ],
  };

  test('denies by its own status, and is told in no header and no body', async () => {
    const headers = ['legacy', 'draft-8'] as const;
    const denial = await denied({ ...limits, headers } as unknown as Options);
    expect(denial.status).toBe(503);
    expect(denial.headers).toEqual([
      ['X-RateLimit-Limit', '5'],
      ['X-RateLimit-Remaining', '4'],
      ['X-RateLimit-Reset', String(NOON_MS / 1000 + 60)],
      ['RateLimit-Policy', '"user";q=5;w=60'],
      ['RateLimit', '"user";r=4;t=20'],
      ['Retry-After', '3560'],
      ['Cache-Control', 'no-store'],
    ]);
    expect(body(denial)).toEqual({
      error: {
        code: 'RATE_LIMITED',
        message: 'Too many requests at this time. Try again in 1 hour.',
        retryAfter: 3560,
        resetAt: NOON_MS / 1000 + 3600,
      },
    });
    const problem = await denied({ ...limits, body: 'problem' } as unknown as Options);
    expect(body(problem)).toMatchObject({ status: 503, 'violated-policies': [] });
  });

  test('leaves the reason to one that the client may know of, where both deny', async () => {
    const policies = [
      { name: 'user', quota: 'fixed-window 1/1m' },
      { name: 'ceiling', quota: 'fixed-window 1/1h', hidden: true, statusCode: 503 },
    ];
    const denial = await denied({ ...limits, policies } as unknown as Options);
    expect(denial.status).toBe(429);
    // Sooner no retry would succeed.
    expect(header(denial, 'Retry-After')).toBe('3560');
    expect(body(denial)).toMatchObject({ error: { policy: 'user', retryAfter: 3560 } });
  });

  test('alone leaves no trace', async () => {
    const policies = [{ name: 'ceiling', quota: 'fixed-window 1/1h', hidden: true }];
    const denial = await denied({ ...limits, policies } as unknown as Options);
    expect(denial.headers.map(([name]) => name)).toEqual(['Retry-After', 'Cache-Control']);
    expect(denial.status).toBe(429);
  });
});

test('a policy may have a status of its own', async () => {
  const policies = [{ name: 'a', quota: 'fixed-window 1/1m', statusCode: 420 }];
  expect(
    status(await denied({ quota: undefined, policies, statusCode: 403 } as unknown as Options)),
  ).toBe(420);
});

describe('a limiter that extends another', () => {
  const store = (): Store => new MemoryStore({ clock: new ManualClock(NOON_MS) });

  test('meets the policies of both in one step, on one store', () => {
    const limiter = new HttpLimiter<TestRequest>({ quota: 'fixed-window 10/1m', store: store() });
    const login = limiter.extend(
      { quota: 'fixed-window 1/1m' },
      { name: 'POST /login', replace: false },
    );
    const search = limiter.extend(
      { quota: 'fixed-window 3/1m' },
      { name: 'GET /search', replace: false },
    );
    const left = (outcome: unknown): Record<string, number> =>
      Object.fromEntries(
        (outcome as Denial).verdict.decisions.map((one) => [one.policy, one.remaining]),
      );
    expect(left(login.decide(new TestView()))).toEqual({ default: 9, 'POST /login': 0 });
    // Denied by one, charged by none.
    expect(left(login.decide(new TestView()))).toEqual({ default: 9, 'POST /login': 0 });
    expect(left(search.decide(new TestView()))).toEqual({ default: 8, 'GET /search': 2 });
    expect(left(limiter.decide(new TestView()))).toEqual({ default: 7 });
  });

  test('can replace them', async () => {
    const limiter = new HttpLimiter<TestRequest>({ quota: '1/1m', store: store() });
    const free = limiter.extend({ quota: '5/1m' }, { name: 'free', replace: true });
    await limiter.decide(new TestView());
    expect((limiter.decide(new TestView()) as Outcome).action).toBe('deny');
    const { verdict } = free.decide(new TestView()) as Denial;
    expect(verdict.decisions.map(({ policy }) => policy)).toEqual(['free']);
  });

  test('has the other’s key, message and status where it says nothing else', () => {
    const limiter = new HttpLimiter<TestRequest>({
      quota: '5/1m',
      key: ({ user }) => user,
      message: () => 'base',
      statusCode: 420,
      store: store(),
    });
    const deny = { limit: 0, window: '1m' };
    const same = limiter.extend({ ...deny, message: undefined } as unknown as Options, {
      name: 'same',
      replace: false,
    });
    const other = limiter.extend(
      { ...deny, message: () => 'other', statusCode: 403, headers: false },
      { name: 'other', replace: false },
    );
    const answer = (one: HttpLimiter<TestRequest>): Denial =>
      one.decide(new TestView({ user: 'ann' })) as Denial;
    expect(answer(same)).toMatchObject({ status: 420 });
    expect(answer(same).verdict.decision('same')?.key).toBe('custom:ann');
    expect(body(answer(same))).toMatchObject({ error: { message: 'base' } });
    expect(answer(other)).toMatchObject({ status: 403 });
    expect(body(answer(other))).toMatchObject({ error: { message: 'other' } });
    expect(header(answer(other), 'X-RateLimit-Limit')).toBeUndefined();
  });

  test('is reached by the other’s handle', async () => {
    const limiter = new HttpLimiter<TestRequest>({ quota: '5/1m', store: store() });
    const login = limiter.extend({ quota: '1/1m' }, { name: 'login', replace: true });
    const login2 = (): string | undefined => (login.decide(new TestView()) as Outcome).action;
    expect([login2(), login2()]).toEqual(['pass', 'deny']);
    await limiter.reset('ip:203.0.113.7');
    expect(login2()).toBe('pass');
    await limiter.block('ip:203.0.113.7', '1h');
    expect((login.decide(new TestView()) as Denial).verdict.tightest.blocked).toBe(true);
    await limiter.unblock('ip:203.0.113.7');
    expect((login.decide(new TestView()) as Denial).verdict.tightest.blocked).toBe(false);
  });

  test('fails with it, and shares what stands in for the store', async () => {
    const failing = new FailingStore(new MemoryStore());
    failing.fail();
    const events: string[] = [];
    const limiter = new HttpLimiter<TestRequest>({
      quota: '2/1m',
      store: failing,
      onEvent: ({ code }) => events.push(code),
    });
    const one = limiter.extend({ quota: '9/1m' }, { name: 'one', replace: false });
    const two = limiter.extend({ quota: '9/1m' }, { name: 'two', replace: false });
    const actions: string[] = [];
    for (const each of [one, two, one, limiter]) {
      actions.push(((await each.decide(new TestView())) as Outcome).action);
    }
    expect(actions).toEqual(['pass', 'pass', 'deny', 'deny']);
    expect(events).toEqual(['degraded']);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['no limit', {}, /`limit` with `window`/],
    ['the other’s name', { quota: '1/1m', name: 'Default' }, /`name`.*different/],
    ['instances', { quota: '1/1m', instances: 2 }, /no `instances` here/],
    ['onEvent', { quota: '1/1m', onEvent: () => {} }, /no `onEvent` here/],
    ['an unknown option', { quota: '1/1m', hook: 'onRequest' }, /`hook`/],
  ])('is refused with %s', (_, options, message) => {
    const limiter = new HttpLimiter<TestRequest>({ quota: '5/1m' });
    const extend = (): unknown =>
      limiter.extend(options as unknown as Options, { name: 'x', replace: false });
    expect(extend).toThrow(message);
    expect(extend).toThrow(expect.objectContaining({ name: 'FloodgateError' }));
  });

  test('is looked at by the other’s handle', async () => {
    const limiter = new HttpLimiter<TestRequest>({ quota: '5/1m', store: store() });
    const login = limiter.extend({ quota: '2/1m' }, { name: 'login', replace: false });
    await login.decide(new TestView());
    const { decisions } = await limiter.peek('ip:203.0.113.7', { cost: 0 });
    expect(decisions.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['default', 4],
      ['login', 1],
    ]);
    const [one] = (await limiter.peek([{ policy: 'login', key: 'ip:203.0.113.7' }])).decisions;
    expect(one?.policy).toBe('login');
  });

  test('has no name that another has with another quota', () => {
    const limiter = new HttpLimiter<TestRequest>({ quota: '5/1m', store: store() });
    const extend = (quota: string): unknown =>
      limiter.extend({ name: 'strict', quota }, { name: '', replace: false });
    extend('3/1h');
    expect(() => extend('3/1h')).not.toThrow();
    expect(() => extend('100/1s')).toThrow(/`name`.*other quotas.*"strict"/);
  });

  test('may extend one that has no limit itself', () => {
    const base = new HttpLimiter<TestRequest>(
      { store: store(), statusCode: 403 },
      { mayBeEmpty: true },
    );
    expect(base.decide(new TestView())).toBeUndefined();
    const limited = base.extend({ limit: 0, window: '1m' }, { name: 'x', replace: false });
    expect(limited.decide(new TestView())).toMatchObject({ action: 'deny', status: 403 });
    expect(() => new HttpLimiter({ store: store() } as never)).toThrow(/`limit` with `window`/);
  });
});

function circle(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}
