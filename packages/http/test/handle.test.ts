import { MemoryStore } from '@floodgate/core';
import { describe, expect, test } from '@jest/globals';
import {
  byIp,
  byUser,
  combine,
  type FloodgateEvent,
  global,
  HttpLimiter,
  keys,
  type Verdict,
} from '../src/index.ts';
import { action, inTurn, type Options } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

const limit = { limit: 2, window: '1m' } as const;
const user = byUser((request: TestRequest) => request.user);

describe('the handle', () => {
  test('speaks the keys of the resolvers', () => {
    const limiter = new HttpLimiter<TestRequest>({ ...limit, key: [user, byIp()] });
    const decide = (): unknown => action(limiter.decide(new TestView({ user: 42 })));
    const left = (key: string): number | undefined =>
      (limiter.peek(key, { cost: 0 }) as Verdict).tightest.remaining;

    expect(left(keys.user(42))).toBe(2);
    expect([1, 2, 3].map(decide)).toEqual(['pass', 'pass', 'deny']);
    expect(left(keys.user(42))).toBe(0);
    expect(left(keys.ip('203.0.113.7'))).toBe(2);

    void limiter.reset(keys.user(42));
    expect(decide()).toBe('pass');
    void limiter.block(keys.user(42), '1h');
    expect(decide()).toBe('deny');
    void limiter.unblock(keys.user(42));
    expect([1, 2].map(decide)).toEqual(['pass', 'deny']);
  });

  test('a policy that only watches denies nobody in a peek either', () => {
    const limiter = new HttpLimiter<TestRequest>({ limit: 0, window: '1m', mode: 'shadow' });
    const verdict = limiter.peek(keys.ip('203.0.113.7')) as Verdict;
    expect([verdict.allowed, verdict.tightest.allowed]).toEqual([true, false]);
  });

  test('asks only the policies that may find the key', () => {
    const limiter = new HttpLimiter<TestRequest>({
      policies: [
        { name: 'global', quota: '9/1m', key: global() },
        { name: 'user', quota: '5/1m', key: [user, byIp()] },
        { name: 'both', quota: '5/1m', key: combine(user, global()) },
      ],
    });
    const asked = (key: string): string[] =>
      (limiter.peek(key) as Verdict).decisions.map(({ policy }) => policy);
    expect(asked('global')).toEqual(['global']);
    expect(asked(keys.user(42))).toEqual(['user']);
    expect(asked(keys.ip('::1'))).toEqual(['user']);
    expect(asked(keys.combine(keys.user(42), 'global'))).toEqual(['both']);
    const verdict = limiter.peek([
      { policy: 'global', key: 'global', cost: 0 },
      { policy: 'user', key: keys.user(42), cost: 0 },
    ]) as Verdict;
    expect(verdict.decisions.map(({ remaining }) => remaining)).toEqual([9, 5]);
  });

  test.each(['203.0.113.7', '42', 'usr:42', 'custom:a', 'user:1|ip:2', ''])(
    'refuses %j, which no resolver of it makes',
    (key) => {
      const limiter = new HttpLimiter<TestRequest>({ ...limit, key: [user, byIp()] });
      for (const use of [
        () => limiter.peek(key),
        () => limiter.block(key, '1h'),
        () => limiter.unblock(key),
        () => limiter.reset(key),
      ]) {
        expect(use).toThrow(/`key`.*user, ip.*`keys`/);
      }
    },
  );

  test('peeks with a quota where that depends on the request', () => {
    const limiter = new HttpLimiter<TestRequest>({ quota: () => '3/1m' });
    const key = keys.ip('203.0.113.7');
    void limiter.decide(new TestView());
    expect(() => limiter.peek(key)).toThrow(
      /quota.*`default`.*peek\(\[\{ policy, key, quota \}\]\)/s,
    );
    const verdict = limiter.peek([{ policy: 'default', key, quota: '3/1m', cost: 0 }]) as Verdict;
    expect(verdict.tightest.remaining).toBe(2);
    void limiter.reset(key);
  });

  test('peeks with the cost of the policy, unless told another', () => {
    const limiter = new HttpLimiter<TestRequest>({ ...limit, cost: 2 });
    const key = keys.ip('203.0.113.7');
    const allowed = (cost?: number): boolean =>
      (limiter.peek(key, cost === undefined ? undefined : { cost }) as Verdict).allowed;
    expect([allowed(), allowed(2), allowed(3)]).toEqual([true, true, false]);
    void limiter.decide(new TestView());
    expect([allowed(), allowed(0)]).toEqual([false, true]);
  });

  test('keeps the options as they were checked', () => {
    const options = { ...limit, headers: false as 'legacy' | false };
    const limiter = new HttpLimiter<TestRequest>(options);
    options.headers = 'legacy';
    expect(limiter.decide(new TestView())).toMatchObject({ headers: [] });
  });

  test.each([undefined, null, 42, { policy: 'a', key: 'b' }])(
    'refuses a key that is none (%j)',
    (key) => {
      const limiter = new HttpLimiter<TestRequest>(limit);
      const refused = /Expected `key` to be a text, such as `keys` makes, got/;
      expect(() => limiter.peek(key as never)).toThrow(refused);
      expect(() => limiter.block(key as never, '1m')).toThrow(refused);
      expect(() => limiter.reset(key as never)).toThrow(refused);
    },
  );

  test('works in a script, on the store of a server', () => {
    const store = new MemoryStore();
    const options: Options = { ...limit, name: 'users', key: user, store };
    const server = new HttpLimiter<TestRequest>(options);
    const script = new HttpLimiter<TestRequest>(options);
    void script.block(keys.user(42), '1h');
    expect(action(server.decide(new TestView({ user: 42 })))).toBe('deny');
    script.close();
    expect(action(server.decide(new TestView({ user: 43 })))).toBe('pass');
  });

  test('closes the store that the limiter made', () => {
    const limiter = new HttpLimiter<TestRequest>(limit);
    limiter.close();
    expect(() => limiter.decide(new TestView())).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_STORE_CLOSED' }),
    );
  });
});

describe('a hook', () => {
  test('that throws, or rejects, is told of and reaches no client', async () => {
    const events: [FloodgateEvent, unknown][] = [];
    const onEvent = (event: FloodgateEvent, request?: TestRequest): void => {
      events.push([event, request]);
    };
    const failure = new Error('Told to fail');
    const fail = (): never => {
      throw failure;
    };
    const view = new TestView();
    for (const onVerdict of [fail, (async () => fail()) as () => void]) {
      const limiter = new HttpLimiter<TestRequest>({ ...limit, onVerdict, onEvent });
      expect(action(limiter.decide(new TestView(view.request)))).toBe('pass');
    }
    await inTurn(undefined)();
    expect(events).toEqual(
      Array.from({ length: 2 }, () => [
        {
          code: 'warning',
          reason: 'hook-threw',
          message: expect.stringContaining('onVerdict'),
          error: failure,
        },
        view.request,
      ]),
    );
  });

  test('is called once for each request that was decided, and for no other', () => {
    const seen: unknown[] = [];
    const limiter = new HttpLimiter<TestRequest>({
      ...limit,
      key: user,
      skip: ({ user }) => user === 'skipped',
      onVerdict: ({ allowed }, { user }) => seen.push([user, allowed]),
    });
    for (const user of ['a', 'a', 'skipped', 'a']) void limiter.decide(new TestView({ user }));
    expect(seen).toEqual([
      ['a', true],
      ['a', true],
      ['a', false],
    ]);
  });
});
