import { MemoryStore } from '@floodgate/core';
import { FailingStore } from '@floodgate/core/testing';
import { describe, expect, test } from '@jest/globals';
import { HttpLimiter, type Outcome } from '../src/index.ts';
import { action, body, header, status } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

const limit = { limit: 2, window: '1m' } as const;

describe('a store that fails', () => {
  const failing = (onStoreError: 'local' | 'allow' | 'deny'): HttpLimiter<TestRequest> => {
    const store = new FailingStore(new MemoryStore(), { remote: false });
    store.fail();
    return new HttpLimiter<TestRequest>({ ...limit, store, onStoreError, onEvent: () => {} });
  };

  test("is stood in for under 'local'", () => {
    const limiter = failing('local');
    const outcomes = [1, 2, 3].map(() => limiter.decide(new TestView()));
    expect(outcomes.map(action)).toEqual(['pass', 'pass', 'deny']);
    expect(outcomes.map((outcome) => header(outcome, 'X-RateLimit-Remaining'))).toEqual([
      '1',
      '0',
      '0',
    ]);
  });

  test("lets requests pass, uncounted and without headers, under 'allow'", () => {
    const limiter = failing('allow');
    const outcomes = [1, 2, 3].map(() => limiter.decide(new TestView()));
    expect(outcomes).toMatchObject(
      Array.from({ length: 3 }, () => ({ action: 'pass', headers: [] })),
    );
  });

  test("is told as what it is under 'deny'", () => {
    const outcome = failing('deny').decide(new TestView()) as Outcome;
    expect(outcome).toMatchObject({
      action: 'deny',
      status: 503,
      headers: [
        ['Retry-After', '1'],
        ['Cache-Control', 'no-store'],
      ],
    });
    expect(body(outcome)).toEqual({
      error: {
        code: 'RATE_LIMITER_UNAVAILABLE',
        message: 'The rate limiter is unavailable. Try again in 1 second.',
        retryAfter: 1,
      },
    });
  });

  test("does not make a denial of the store's own a failure", () => {
    const limiter = new HttpLimiter<TestRequest>({ ...limit, onStoreError: 'deny' });
    const outcomes = [1, 2, 3].map(() => limiter.decide(new TestView()));
    expect(outcomes.map(status)).toEqual([undefined, undefined, 429]);
  });

  test("hides only what was not counted, and denies only where the policy's rule says so", () => {
    const store = new FailingStore(new MemoryStore(), { remote: false });
    const make = (rule: 'allow' | 'deny', mode: 'enforce' | 'shadow'): HttpLimiter<TestRequest> =>
      new HttpLimiter<TestRequest>({
        onEvent: () => {},
        policies: [
          { name: 'sound', quota: '1/1m' },
          { name: 'failing', quota: '9/1m', store, onStoreError: rule, mode },
        ],
      });
    store.fail();
    const allow = make('allow', 'enforce');
    const outcomes = [1, 2].map(() => allow.decide(new TestView()));
    expect(outcomes.map((outcome) => header(outcome, 'X-RateLimit-Limit'))).toEqual(['1', '1']);
    expect(body(outcomes[1])).not.toHaveProperty('error.limits');

    const shadow = make('deny', 'shadow');
    expect([1, 2].map(() => status(shadow.decide(new TestView())))).toEqual([undefined, 429]);
    expect(status(make('deny', 'enforce').decide(new TestView()))).toBe(503);
  });
});
