import { describe, expect, test } from '@jest/globals';
import { type MemoryStore, RateLimiter, type RateLimiterOptions } from '../src/index.ts';

const policies = [{ name: 'a', quota: '5/1m' }];

describe('an option that is not what it should be is an error that names it', () => {
  test.each<[unknown, string, RegExp]>([
    [undefined, 'FLOODGATE_INVALID_OPTION', /^Expected `RateLimiter options` to be an object/],
    [{}, 'FLOODGATE_INVALID_OPTION', /^Expected `policies` to be a list .*got `undefined`/],
    [
      { policies: [] },
      'FLOODGATE_INVALID_OPTION',
      /^Expected `policies` to be a list .*got an array/,
    ],
    [{ policies: {} }, 'FLOODGATE_INVALID_OPTION', /^Expected `policies` to be a list/],
    [{ policies: [undefined] }, 'FLOODGATE_INVALID_OPTION', /^Expected `policies` to be /],
    [{ policies: ['5/1m'] }, 'FLOODGATE_INVALID_OPTION', /^Expected `policies` to be an object/],
    [{ policies, polices: 1 }, 'FLOODGATE_INVALID_OPTION', /to have only .*got `polices`/],
    [{ policies: [{ name: 'a' }] }, 'FLOODGATE_INVALID_QUOTA', /^Expected `quota` to be /],
    [
      { policies: [{ name: '', quota: '5/1m' }] },
      'FLOODGATE_INVALID_OPTION',
      /^Expected `name` to be /,
    ],
    [{ policies: [{ quota: '5/1m' }] }, 'FLOODGATE_INVALID_OPTION', /^Expected `name` to be /],
    [
      { policies: [{ name: 'a', quota: '5' }] },
      'FLOODGATE_INVALID_QUOTA',
      /^Expected `quota` to be .*"5"/,
    ],
    [
      { policies: [{ name: 'a', quota: '5/1m', limit: 5 }] },
      'FLOODGATE_INVALID_OPTION',
      /to have only .*got `limit`/,
    ],
    [{ policies, store: {} }, 'FLOODGATE_INVALID_OPTION', /^Expected `store` to be a store/],
    [{ policies, store: null }, 'FLOODGATE_INVALID_OPTION', /^Expected `store` to be .*got `null`/],
    [
      { policies: [{ ...policies[0], store: 'redis' }] },
      'FLOODGATE_INVALID_OPTION',
      /^Expected `store` to be a store, got `"redis"`/,
    ],
    [
      { policies, onStoreError: 'open' },
      'FLOODGATE_INVALID_OPTION',
      /^Expected `onStoreError` to be /,
    ],
    [
      { policies: [{ ...policies[0], onStoreError: 'closed' }] },
      'FLOODGATE_INVALID_OPTION',
      /^Expected `onStoreError` to be 'local', 'allow' or 'deny', got `"closed"`/,
    ],
    [{ policies, instances: 0 }, 'FLOODGATE_INVALID_OPTION', /^Expected `instances` to be /],
    [{ policies, instances: 1.5 }, 'FLOODGATE_INVALID_OPTION', /^Expected `instances` to be /],
    [{ policies, instances: '2' }, 'FLOODGATE_INVALID_OPTION', /^Expected `instances` to be /],
    [
      { policies, onVerdict: 1 },
      'FLOODGATE_INVALID_OPTION',
      /^Expected `onVerdict` to be a function/,
    ],
    [
      { policies, onEvent: 'log' },
      'FLOODGATE_INVALID_OPTION',
      /^Expected `onEvent` to be a function/,
    ],
  ])('%o', (options, code, message) => {
    expect(() => new RateLimiter(options as RateLimiterOptions<MemoryStore>)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });
});

test('two policies of one name, differing only in case, are an error', () => {
  const twice = (one: string, other: string) => () =>
    new RateLimiter({
      policies: [
        { name: one, quota: '5/1m' },
        { name: 'b', quota: '5/1m' },
        { name: other, quota: '5/1h' },
      ],
    });
  expect(twice('per-minute', 'per-minute')).toThrow('names that differ');
  expect(twice('per-minute', 'Per-Minute')).toThrow('names that differ');
  expect(twice('per-minute', 'per-hour')).not.toThrow();
});

test('an option that is undefined is one that is left out', () => {
  const limiter = new RateLimiter({
    policies,
    ...({ store: undefined, onStoreError: undefined, instances: undefined } as object),
    ...({ onVerdict: undefined, onEvent: undefined } as object),
  });
  expect(limiter.take('k').allowed).toBe(true);
});

test('options are read once: what is done to them later changes nothing', () => {
  const mine = [{ name: 'a', quota: { limit: 5, window: '1m' } }];
  const limiter = new RateLimiter({ policies: mine });
  (mine[0] as { name: string }).name = 'changed';
  (mine[0]?.quota as { limit: number }).limit = 1_000;
  mine.push({ name: 'b', quota: { limit: 1, window: '1m' } });
  expect(limiter.take('k').decisions).toMatchObject([{ policy: 'a', limit: 5 }]);
});
