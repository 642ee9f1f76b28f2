import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  formatQuota,
  parseQuota,
  slidingWindowCounter,
  tokenBucket,
  toQuota,
} from '../src/index.ts';
import { largeQuotas, quotas } from './arbitraries.ts';

describe('the text form of a quota', () => {
  test.each([
    ['100/1m', { algorithm: 'sliding-window-counter', limit: 100, windowMs: 60_000 }],
    ['fixed-window 100/1m', { algorithm: 'fixed-window', limit: 100, windowMs: 60_000 }],
    [
      'fixed-window 100/1m align=first-request',
      { algorithm: 'fixed-window', limit: 100, windowMs: 60_000, align: 'first-request' },
    ],
    ['sliding-window-log 5/10s', { algorithm: 'sliding-window-log', limit: 5, windowMs: 10_000 }],
    [
      'token-bucket 100 10/1s',
      { algorithm: 'token-bucket', capacity: 100, refillRate: 10, intervalMs: 1000 },
    ],
    [
      'leaky-bucket 20 5/1s',
      { algorithm: 'leaky-bucket', capacity: 20, leakRate: 5, intervalMs: 1000 },
    ],
    [
      'leaky-bucket 20 5/1s shape=false block=15m',
      {
        algorithm: 'leaky-bucket',
        capacity: 20,
        leakRate: 5,
        intervalMs: 1000,
        shape: false,
        blockMs: 900_000,
      },
    ],
    ['0/90s', { algorithm: 'sliding-window-counter', limit: 0, windowMs: 90_000 }],
  ])('%s', (text, fields) => {
    expect(parseQuota(text)).toEqual(fields);
    expect(formatQuota(parseQuota(text))).toBe(text);
  });

  test.each([
    ['  sliding-window-counter   100/60s ', '100/1m'],
    ['100/3600000ms', '100/1h'],
    ['100/1minute block=900s', '100/1m block=15m'],
    ['fixed-window 100/1m block=1h align=clock', 'fixed-window 100/1m block=1h'],
    ['leaky-bucket 20 5/1000ms shape=true', 'leaky-bucket 20 5/1s'],
    ['007/1.5s', '7/1500ms'],
  ])('%p is read, and written as %p', (text, written) => {
    expect(formatQuota(parseQuota(text))).toBe(written);
  });

  test('is read as it was written, without loss', () => {
    const any = fc.oneof(
      quotas,
      largeQuotas.map(({ quota }) => quota),
    );
    fc.assert(
      fc.property(any, (quota) => {
        expect(parseQuota(formatQuota(quota))).toEqual(quota);
        expect(toQuota(JSON.parse(JSON.stringify(quota)))).toEqual(quota);
      }),
      { numRuns: 1000 },
    );
  });

  test('of the longest times and the largest numbers too', () => {
    for (const quota of [
      slidingWindowCounter({ limit: Number.MAX_SAFE_INTEGER, window: 1e15 - 1, blockFor: 1e15 }),
      tokenBucket({ capacity: 9, refillRate: Number.MAX_SAFE_INTEGER, per: 999_999_999_999_999 }),
    ]) {
      expect(parseQuota(formatQuota(quota))).toEqual(quota);
    }
  });
});

describe('a text that is none', () => {
  test.each([
    ['', '`quota`'],
    ['100', '`quota`'],
    ['/1m', '`quota`'],
    ['100/', '`quota`'],
    ['100/1m/1h', '`quota`'],
    ['100 per minute', '`quota`'],
    ['token-bucket 10/1s', '`quota`'],
    ['token-bucket 100', '`quota`'],
    ['100/1m block', '`quota`'],
    ['100/1m block=', '`quota`'],
    ['100/1m block=1h block=2h', '`quota`'],
    ['100/1m blok=1h', 'blok'],
    ['100/1m align=clock', 'align'],
    ['fixed-window 100/1m align=utc', '`align`'],
    ['fixed-window 100/1m shape=false', 'shape'],
    ['leaky-bucket 20 5/1s shape=no', '`shape`'],
    ['100/10', '`window`'],
    ['-1/1m', '`limit`'],
    ['1.5/1m', '`limit`'],
    ['1e3/1m', '`limit`'],
    ['Infinity/1m', '`limit`'],
    ['9007199254740992/1m', '`limit`'],
    ['token-bucket 1 0.5/1s', '`refillRate`'],
    ['token-bucket 0x10 1/1s', '`capacity`'],
    ['leaky-bucket 1 0/1s', '`leakRate`'],
    ['token-bucket 9007199254740991 1/1s', '`capacity`'],
    ['gcra 100/1m', '`algorithm`'],
    ['constructor 100/1m', '`algorithm`'],
    ['100/1m block=-1m', '`blockFor`'],
  ])('%p: the error names %s', (text, named) => {
    expect(() => parseQuota(text)).toThrow(
      expect.objectContaining({
        code: 'FLOODGATE_INVALID_QUOTA',
        message: expect.stringContaining(named),
      }),
    );
  });

  test('is shown in the error, with what was expected and what was got', () => {
    expect(() => parseQuota('1.5/1m')).toThrow(/Expected `limit` to be a whole number.*`1\.5\/1m`/);
  });

  test.each([
    ['5/minute', '5/1m'],
    ['5/min', '5/1m'],
    ['5/sec', '5/1s'],
    ['5/Hour', '5/1h'],
    ['5 per minute', '5/1m'],
    ['5 per 10 seconds', '5/10s'],
    ['5 / 1m', '5/1m'],
    ['5/1 hour', '5/1h'],
    ['  fixed-window  5 per   day block=15m ', 'fixed-window 5/1d block=15m'],
    ['token-bucket 100 10/second', 'token-bucket 100 10/1s'],
  ])('%p, as rates are said, is told how to write it: %p', (text, meant) => {
    expect(() => parseQuota(text)).toThrow(
      expect.objectContaining({
        code: 'FLOODGATE_INVALID_QUOTA',
        message: expect.stringMatching(new RegExp(`^Expected .*; write \`${meant}\`$`)),
      }),
    );
  });

  test.each([
    '5/month',
    '5 per',
    'per minute',
    '-5/minute',
    '5/minute/hour',
    '5 per minute x',
    '5/0m',
  ])('%p, that no text form stands for, is told of none', (text) => {
    expect(() => parseQuota(text)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('; write') }),
    );
  });

  test.each([undefined, null, 100, {}])('%p', (text) => {
    expect(() => parseQuota(text as unknown as string)).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_INVALID_QUOTA' }),
    );
  });
});

describe('wherever a quota is expected', () => {
  test.each([
    ['100/1m', slidingWindowCounter({ limit: 100, window: '1m' })],
    [{ limit: 100, window: '1m' }, slidingWindowCounter({ limit: 100, window: '1m' })],
    [{ limit: 100, window: 60_000, blockFor: '1h' }, parseQuota('100/1m block=1h')],
    [tokenBucket({ capacity: 5, refillRate: 1 }), tokenBucket({ capacity: 5, refillRate: 1 })],
    [
      { algorithm: 'token-bucket', capacity: 5, refillRate: 1, intervalMs: 1000 },
      tokenBucket({ capacity: 5, refillRate: 1 }),
    ],
  ])('%o stands for one', (input, quota) => {
    expect(toQuota(input)).toEqual(quota);
  });

  test.each([
    [undefined, '`quota`'],
    [null, '`quota`'],
    [100, '`quota`'],
    [{}, '`limit`'],
    [{ limit: 1 }, '`window`'],
    [{ limit: 1, window: '1m', name: 'x' }, '`name`'],
    [{ algorithm: 'gcra', limit: 1 }, '`algorithm`'],
    [{ algorithm: 'constructor', limit: 1 }, '`algorithm`'],
    [{ algorithm: 'toString' }, '`algorithm`'],
    [{ algorithm: 'fixed-window', limit: -1, windowMs: 1000 }, '`limit`'],
    [{ algorithm: 'fixed-window', limit: 1, windowMs: 1.5 }, '`window'],
    [{ algorithm: 'token-bucket', capacity: 1, refillRate: 1, intervalMs: 0 }, '`per`'],
    [{ algorithm: 'token-bucket', capacity: 1, leakRate: 1, intervalMs: 1000 }, '`leakRate`'],
  ])('%o does not', (input, named) => {
    expect(() => toQuota(input)).toThrow(
      expect.objectContaining({
        code: 'FLOODGATE_INVALID_QUOTA',
        message: expect.stringContaining(named),
      }),
    );
  });
});
