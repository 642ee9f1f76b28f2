import {
  type Decision,
  fixedWindow,
  type Quota,
  slidingWindowCounter,
  tokenBucket,
} from '@floodgate/core';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { headerWriter } from '../src/header-families.ts';
import { type Header, resetSeconds, retryAfterSeconds, waitMsOf } from '../src/headers.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');
const NOON_S = NOON_MS / 1000;

describe('Retry-After and X-RateLimit-Reset', () => {
  const time = fc.integer({ min: NOON_MS, max: NOON_MS + 1_000_000 });
  const wait = fc.integer({ min: 1, max: 10_000_000 });

  test('name a moment at which the wait is over, and no later second', () => {
    fc.assert(
      fc.property(time, wait, (atMs, waitMs) => {
        const retryAfter = retryAfterSeconds(waitMs) ?? Number.NaN;
        expect(retryAfter * 1000).toBeGreaterThanOrEqual(waitMs);
        expect(retryAfter * 1000 - waitMs).toBeLessThan(1000);

        const reset = resetSeconds(atMs, waitMs) ?? Number.NaN;
        expect(reset * 1000).toBeGreaterThanOrEqual(atMs + waitMs);
        expect(reset * 1000 - (atMs + waitMs)).toBeLessThan(1000);
      }),
    );
  });

  test.each([
    [5000, 5],
    [4800, 5],
    [100, 1],
    [1, 1],
    [2400, 3],
    [1001, 2],
  ])('a wait of %i ms is %i s', (waitMs, seconds) => {
    expect(retryAfterSeconds(waitMs)).toBe(seconds);
  });

  test('a reset has ten digits and is the same all through a window', () => {
    const resets = [0, 1, 999, 30_000, 59_001, 59_999].map((elapsedMs) =>
      resetSeconds(NOON_MS + elapsedMs, 60_000 - elapsedMs),
    );
    expect(new Set(resets)).toEqual(new Set([NOON_S + 60]));
  });

  test('where no wait helps there is neither', () => {
    expect(retryAfterSeconds(Number.POSITIVE_INFINITY)).toBeUndefined();
    expect(resetSeconds(NOON_MS, Number.POSITIVE_INFINITY)).toBeUndefined();
  });
});

describe('X-RateLimit-*', () => {
  const window = fixedWindow({ limit: 5, window: '1m' });

  test('of an admitted request say when all is there again', () => {
    const decision = decided({ limit: 5, remaining: 4, resetAtMs: NOON_MS + 60_000 });
    expect(legacyHeaders(decision, window)).toEqual([
      ['X-RateLimit-Limit', '5'],
      ['X-RateLimit-Remaining', '4'],
      ['X-RateLimit-Reset', String(NOON_S + 60)],
    ]);
  });

  test('of a denied request say when the retry succeeds', () => {
    const decision = decided({
      allowed: false,
      limit: 5,
      remaining: 0,
      retryAfterMs: 12_300,
      resetAtMs: NOON_MS + 60_000,
    });
    expect(legacyHeaders(decision, window)).toContainEqual([
      'X-RateLimit-Reset',
      String(NOON_S + 13),
    ]);
  });

  test('have no reset where no wait helps', () => {
    const decision = decided({
      allowed: false,
      limit: 0,
      remaining: 0,
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
    expect(legacyHeaders(decision, window)).toEqual([
      ['X-RateLimit-Limit', '0'],
      ['X-RateLimit-Remaining', '0'],
    ]);
  });

  test.each([
    ['a window', slidingWindowCounter({ limit: 5, window: '1m' }), 60_000],
    ['a bucket', tokenBucket({ capacity: 10, refillRate: 3, per: '1s' }), 3334],
  ])('look no further ahead than %s', (_, quota, longestMs) => {
    const decision = decided({ resetAtMs: NOON_MS + 1_000_000 });
    expect(waitMsOf(decision, quota)).toBe(longestMs);
  });
});

function legacyHeaders(decision: Decision, quota: Quota): Header[] {
  const headers: Header[] = [];
  const shown = {
    quota,
    decision: { ...decision, policy: 'a', key: 'k', cost: 1, advisory: false, degraded: undefined },
  };
  headerWriter('legacy').write(headers, [shown], shown);
  return headers;
}

function decided(parts: Partial<Decision>): Decision {
  return {
    allowed: true,
    limit: 5,
    remaining: 5,
    retryAfterMs: 0,
    resetAtMs: NOON_MS,
    delayMs: 0,
    blocked: false,
    atMs: NOON_MS,
    ...parts,
  };
}
