import { describe, expect, test } from '@jest/globals';
import {
  fillTimeOf,
  fixedWindow,
  leakyBucket,
  limitOf,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
  toQuota,
} from '../src/index.ts';
import { toMilliseconds } from '../src/internal.ts';

const MOST = Number.MAX_SAFE_INTEGER;

describe('a quota is plain data, with every duration in whole milliseconds', () => {
  test.each([
    [
      fixedWindow({ limit: 100, window: '1m' }),
      { algorithm: 'fixed-window', limit: 100, windowMs: 60_000 },
    ],
    [
      fixedWindow({ limit: 100, window: '1m', align: 'clock' }),
      { algorithm: 'fixed-window', limit: 100, windowMs: 60_000 },
    ],
    [
      fixedWindow({ limit: 100, window: 1, align: 'first-request', blockFor: '15m' }),
      {
        algorithm: 'fixed-window',
        limit: 100,
        windowMs: 1,
        align: 'first-request',
        blockMs: 900_000,
      },
    ],
    [
      slidingWindowLog({ limit: 100, window: '1 hour' }),
      { algorithm: 'sliding-window-log', limit: 100, windowMs: 3_600_000 },
    ],
    [
      slidingWindowCounter({ limit: 100, window: '1d' }),
      { algorithm: 'sliding-window-counter', limit: 100, windowMs: 86_400_000 },
    ],
    [
      tokenBucket({ capacity: 100, refillRate: 10 }),
      { algorithm: 'token-bucket', capacity: 100, refillRate: 10, intervalMs: 1000 },
    ],
    [
      leakyBucket({ capacity: 20, leakRate: 5, per: '30s' }),
      { algorithm: 'leaky-bucket', capacity: 20, leakRate: 5, intervalMs: 30_000 },
    ],
    [
      leakyBucket({ capacity: 20, leakRate: 5, shape: false }),
      { algorithm: 'leaky-bucket', capacity: 20, leakRate: 5, intervalMs: 1000, shape: false },
    ],
  ])('%o', (quota, fields) => {
    expect(quota).toEqual(fields);
    expect(Object.keys(quota)[0]).toBe('algorithm');
    expect(Object.isFrozen(quota)).toBe(true);
    expect(JSON.parse(JSON.stringify(quota))).toEqual(fields);
  });
});

/** Each option of each quota, and a quota that has it. */
const numbers = [
  ['limit', (limit: number) => fixedWindow({ limit, window: '1m' })],
  ['limit', (limit: number) => slidingWindowLog({ limit, window: '1m' })],
  ['limit', (limit: number) => slidingWindowCounter({ limit, window: '1m' })],
  ['capacity', (capacity: number) => tokenBucket({ capacity, refillRate: 1 })],
  ['capacity', (capacity: number) => leakyBucket({ capacity, leakRate: 1 })],
  ['refillRate', (refillRate: number) => tokenBucket({ capacity: 1, refillRate })],
  ['leakRate', (leakRate: number) => leakyBucket({ capacity: 1, leakRate })],
] as const;

const durations = [
  ['window', (window: number) => fixedWindow({ limit: 1, window })],
  ['window', (window: number) => slidingWindowLog({ limit: 1, window })],
  ['window', (window: number) => slidingWindowCounter({ limit: 1, window })],
  ['per', (per: number) => tokenBucket({ capacity: 1, refillRate: 1, per })],
  ['per', (per: number) => leakyBucket({ capacity: 1, leakRate: 1, per })],
  ['blockFor', (blockFor: number) => slidingWindowLog({ limit: 1, window: 1, blockFor })],
  ['blockFor', (blockFor: number) => tokenBucket({ capacity: 1, refillRate: 1, blockFor })],
] as const;

describe('what is no whole number is refused when the quota is made', () => {
  const wrong = [Number.NaN, Number.POSITIVE_INFINITY, -1, 1.5, '10', null, 2 ** 53, true, {}, 10n];

  describe.each([...numbers, ...durations])('%s', (option, make) => {
    test.each(wrong)('%p', (value) => {
      const shown =
        typeof value === 'string'
          ? `"${value}"`
          : String(value).replace('[object Object]', 'an object');
      expect(() => make(value as number)).toThrow(
        expect.objectContaining({
          name: 'FloodgateError',
          code: 'FLOODGATE_INVALID_QUOTA',
          message: expect.stringMatching(
            new RegExp(`^Expected \`${option}\` to be .+, got .*${shown.slice(0, 9)}`),
          ),
        }),
      );
    });
  });

  test.each(durations)('%s: 0', (option, make) => {
    expect(() => make(0)).toThrow(`Expected \`${option}\` to be a duration`);
  });

  test.each(numbers)('%s: undefined', (option, make) => {
    expect(() => make(undefined as unknown as number)).toThrow(`Expected \`${option}\` to be`);
  });

  test('a window that is left out', () => {
    expect(() => slidingWindowLog({ limit: 1 } as never)).toThrow(
      'Expected `window` to be a duration',
    );
  });
});

test('a limit or capacity of 0 is a quota that denies everything; a rate of 0 is none', () => {
  expect(limitOf(slidingWindowLog({ limit: 0, window: '1m' }))).toBe(0);
  expect(limitOf(tokenBucket({ capacity: 0, refillRate: 1 }))).toBe(0);
  expect(() => tokenBucket({ capacity: 1, refillRate: 0 })).toThrow('`refillRate`');
  expect(() => leakyBucket({ capacity: 1, leakRate: 0 })).toThrow('`leakRate`');
});

describe('a rate that is no whole number is suggested as one that is', () => {
  test.each([
    [{ refillRate: 0.5 }, "write `refillRate: 1, per: '2s'`"],
    [{ refillRate: 1.5 }, "write `refillRate: 3, per: '2s'`"],
    [{ refillRate: 0.1 }, "write `refillRate: 1, per: '10s'`"],
    [{ refillRate: 1 / 3, per: '1m' }, "write `refillRate: 1, per: '3m'`"],
    [{ refillRate: 2.25, per: 500 }, "write `refillRate: 9, per: '2s'`"],
  ])('%o', (options, suggestion) => {
    expect(() => tokenBucket({ capacity: 10, ...options })).toThrow(suggestion);
  });

  test('of a leaky bucket under its own name', () => {
    expect(() => leakyBucket({ capacity: 10, leakRate: 0.5 })).toThrow(
      "write `leakRate: 1, per: '2s'`",
    );
  });

  test.each([-0.5, Number.NaN, Number.POSITIVE_INFINITY, Math.PI, '0.5'])(
    'not where there is none: %p',
    (rate) => {
      expect(() => tokenBucket({ capacity: 10, refillRate: rate as number })).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining('write') }),
      );
    },
  );
});

describe('a bucket whose parts would not stay below 2^53 is refused', () => {
  test.each([
    { per: 1, most: MOST },
    { per: 1000, most: 9_007_199_254_740 },
    { per: 86_400_000, most: 104_249_991 },
  ])('with an interval of $per ms the capacity is at most $most', ({ per, most }) => {
    expect(tokenBucket({ capacity: most, refillRate: 1, per }).capacity).toBe(most);
    expect(leakyBucket({ capacity: most, leakRate: 1, per }).capacity).toBe(most);
    for (const make of [
      () => tokenBucket({ capacity: most + 1, refillRate: 1, per }),
      () => leakyBucket({ capacity: most + 1, leakRate: 1, per }),
    ]) {
      expect(make).toThrow(expect.objectContaining({ code: 'FLOODGATE_INVALID_QUOTA' }));
    }
  });

  test('and told what would be possible', () => {
    expect(() => tokenBucket({ capacity: 1e15, refillRate: 1 })).toThrow(
      'Expected `capacity` to be at most 9007199254740 with an interval of 1000 ms, got `1000000000000000`',
    );
  });
});

describe('an option that there is not, or that is not what it should be', () => {
  test.each([
    [() => fixedWindow({ limit: 1, windw: '1m' } as never), '`windw`'],
    [() => tokenBucket({ capacity: 1, refillRate: 1, window: '1m' } as never), '`window`'],
    [() => slidingWindowLog({ limit: 1, window: '1m', align: 'clock' } as never), '`align`'],
    [() => fixedWindow({ limit: 1, window: '1m', align: 'utc' } as never), '`align`'],
    [() => leakyBucket({ capacity: 1, leakRate: 1, shape: 'no' } as never), '`shape`'],
    [() => fixedWindow(undefined as never), '`fixedWindow options`'],
    [() => fixedWindow('100/1m' as never), '`fixedWindow options`'],
    [() => fixedWindow([] as never), '`fixedWindow options`'],
    [() => fixedWindow(null as never), 'got `null`'],
  ])('%s', (make, named) => {
    expect(make).toThrow(named);
    expect(make).toThrow(expect.objectContaining({ code: 'FLOODGATE_INVALID_QUOTA' }));
  });
});

test('the time to be full again is the window, or the capacity by the rate, rounded up', () => {
  expect(fillTimeOf(toQuota('10/1m'))).toBe(60_000);
  expect(fillTimeOf(toQuota('token-bucket 10 3/1s'))).toBe(3_334);
  expect(fillTimeOf(toQuota('leaky-bucket 4 2/1s'))).toBe(2_000);
});

describe('a duration', () => {
  test.each([
    [1, 1],
    [60_000, 60_000],
    ['1ms', 1],
    ['30s', 30_000],
    ['1m', 60_000],
    ['1 minute', 60_000],
    ['1 hour', 3_600_000],
    ['1d', 86_400_000],
    ['30 days', 2_592_000_000],
    ['1w', 604_800_000],
    ['0.5s', 500],
    ['1.005s', 1005],
    ['4.35s', 4350],
    ['1.5 hours', 5_400_000],
    ['1000000000000000ms', 1e15],
  ])('%p is %d ms', (duration, ms) => {
    expect(toMilliseconds(duration, 'window')).toBe(ms);
  });

  test.each([
    '10',
    '',
    ' ',
    's',
    '1 fortnight',
    '1m30s',
    '-1m',
    '0s',
    '0.0001s',
    '1e3s',
    'Infinity ms',
    '1'.repeat(60),
    0,
    -1,
    1e15 + 1,
    '1000000000000001ms',
    '40000 years',
  ])('%p is none', (duration) => {
    expect(() => toMilliseconds(duration, 'window')).toThrow(
      expect.objectContaining({
        code: 'FLOODGATE_INVALID_OPTION',
        message: expect.stringContaining('Expected `window` to be'),
      }),
    );
  });
});
