import { describe, expect, test } from '@jest/globals';
import {
  byUser,
  type FloodgateEvent,
  HttpLimiter,
  type Outcome,
  type Verdict,
} from '../src/index.ts';
import { action, body, costs, header } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

const limit = { limit: 2, window: '1m' } as const;
const user = byUser((request: TestRequest) => request.user);

describe('a policy', () => {
  test('applies when it says so, and costs what it says', () => {
    const limiter = new HttpLimiter<TestRequest>({
      cost: 3,
      policies: [
        { name: 'all', quota: '9/1m' },
        {
          name: 'users',
          quota: '9/1m',
          key: user,
          when: ({ user }) => user !== undefined,
          cost: 4,
        },
      ],
    });
    expect(costs(limiter.decide(new TestView()))).toEqual({ all: 3 });
    expect(costs(limiter.decide(new TestView({ user: 1 })))).toEqual({ all: 3, users: 4 });
  });

  test('that denies keeps the others from being charged', () => {
    const limiter = new HttpLimiter<TestRequest>({
      policies: [
        { name: 'minute', quota: '2/1m' },
        { name: 'day', quota: '10/1d' },
      ],
    });
    const outcomes = [1, 2, 3, 4].map(() => limiter.decide(new TestView()));
    expect(outcomes.map(action)).toEqual(['pass', 'pass', 'deny', 'deny']);
    expect(body(outcomes[3])).toMatchObject({
      error: {
        policy: 'minute',
        limits: { minute: { limit: 2, remaining: 0 }, day: { limit: 10, remaining: 8 } },
      },
    });
  });

  test('in shadow mode is decided and reported, and the client sees nothing of it', () => {
    const verdicts: Verdict[] = [];
    const limiter = new HttpLimiter<TestRequest>({
      policies: [
        { name: 'real', quota: '2/1m' },
        { name: 'trial', quota: '1/1m', mode: 'shadow' },
        { name: 'off', quota: '0/1m', mode: () => 'off' },
      ],
      onVerdict: (verdict) => verdicts.push(verdict),
    });
    const outcomes = [1, 2, 3].map(() => limiter.decide(new TestView()) as Outcome);
    expect(outcomes.map(action)).toEqual(['pass', 'pass', 'deny']);
    expect(outcomes.map((outcome) => header(outcome, 'X-RateLimit-Remaining'))).toEqual([
      '1',
      '0',
      '0',
    ]);
    expect(outcomes.map((outcome) => header(outcome, 'X-RateLimit-Limit'))).toEqual([
      '2',
      '2',
      '2',
    ]);
    expect(body(outcomes[2])).not.toHaveProperty('error.limits');
    expect(verdicts.map((verdict) => verdict.decision('trial')?.allowed)).toEqual([
      true,
      false,
      false,
    ]);
    expect(verdicts.map((verdict) => verdict.decision('off'))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('in shadow mode that cannot find a key says so, once, and lets the request be', () => {
    const events: FloodgateEvent[] = [];
    const limiter = new HttpLimiter<TestRequest>({
      ...limit,
      key: user,
      mode: 'shadow',
      onEvent: (event) => events.push(event),
    });
    expect([1, 2].map(() => limiter.decide(new TestView()))).toEqual([undefined, undefined]);
    expect(events).toEqual([
      {
        code: 'warning',
        reason: 'shadow-failed',
        message: expect.stringMatching(/^Policy `default` is in shadow mode.*key/),
        error: expect.objectContaining({ code: 'FLOODGATE_NO_KEY' }),
      },
    ]);
  });

  test('in shadow mode by a function lets no error reach a request either', () => {
    const limiter = new HttpLimiter<TestRequest>({
      ...limit,
      mode: ({ user }) => (user === 'enforced' ? 'enforce' : 'shadow'),
      skip: () => {
        throw new Error('Told to fail');
      },
      onEvent: () => {},
    });
    expect(limiter.decide(new TestView())).toBeUndefined();
    expect(() => limiter.decide(new TestView({ user: 'enforced' }))).toThrow('Told to fail');
  });

  test('in shadow mode alone lets no error reach a request', async () => {
    const fail = (): never => {
      throw new Error('Told to fail');
    };
    const events: FloodgateEvent[] = [];
    const limiter = new HttpLimiter<TestRequest>({
      ...limit,
      mode: 'shadow',
      skip: fail,
      onEvent: (event) => events.push(event),
    });
    expect([1, 2].map(() => limiter.decide(new TestView()))).toEqual([undefined, undefined]);
    expect(events.map(({ message }) => message)).toEqual([expect.stringMatching(/Told to fail$/)]);

    const rejecting = new HttpLimiter<TestRequest>({
      ...limit,
      mode: async ({ user }) => (user === 'enforced' ? 'enforce' : 'shadow'),
      key: async () => fail(),
      onEvent: () => {},
    });
    await expect(rejecting.decide(new TestView())).resolves.toBeUndefined();
    await expect(rejecting.decide(new TestView({ user: 'enforced' }))).rejects.toThrow(/Told/);

    const closed = new HttpLimiter<TestRequest>({ ...limit, mode: 'shadow', onEvent: () => {} });
    closed.close();
    expect(closed.decide(new TestView())).toBeUndefined();
  });

  test('of limit 0 denies everything and tells no time to wait', () => {
    const limiter = new HttpLimiter<TestRequest>({ limit: 0, window: '1m' });
    const outcome = limiter.decide(new TestView()) as Outcome;
    expect(outcome).toMatchObject({
      action: 'deny',
      headers: [
        ['X-RateLimit-Limit', '0'],
        ['X-RateLimit-Remaining', '0'],
        ['Cache-Control', 'no-store'],
      ],
    });
    expect(body(outcome)).toEqual({
      error: {
        code: 'RATE_LIMITED',
        message: 'Rate limit exceeded. This request costs more than its limit ever allows.',
        retryAfter: null,
        resetAt: null,
        policy: 'default',
      },
    });
  });

  test('may have any name', () => {
    const limiter = new HttpLimiter<TestRequest>({
      policies: [
        { name: '__proto__', quota: '0/1m' },
        { name: 'toString', quota: '5/1m' },
      ],
    });
    const { limits } = (body(limiter.decide(new TestView())) as { error: { limits: object } })
      .error;
    expect(Object.keys(limits)).toEqual(['__proto__', 'toString']);
  });
});
