import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { defaultMessage } from '../src/body.ts';

describe('the message of a denial', () => {
  test.each([
    [1, '1 second'],
    [2, '2 seconds'],
    [30, '30 seconds'],
    [59, '59 seconds'],
    [60, '1 minute'],
    [61, '2 minutes'],
    [3540, '59 minutes'],
    [3541, '1 hour'],
    [3600, '1 hour'],
    [3601, '2 hours'],
    [86_400, '24 hours'],
    [2_592_000, '720 hours'],
  ])('after %i s: %s', (seconds, words) => {
    expect(defaultMessage({ retryAfter: seconds, policy: 'default' })).toBe(
      `Rate limit exceeded. Try again in ${words}.`,
    );
  });

  test('never tells a time shorter than the wait', () => {
    const units: Record<string, number> = { second: 1, minute: 60, hour: 3600 };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
        const [, count, unit = ''] =
          /(\d+) (second|minute|hour)/.exec(
            defaultMessage({ retryAfter: seconds, policy: 'default' }),
          ) ?? [];
        expect(Number(count) * (units[unit] ?? 0)).toBeGreaterThanOrEqual(seconds);
      }),
    );
  });

  test('says where no wait helps', () => {
    expect(defaultMessage({ retryAfter: undefined, policy: 'default' })).toBe(
      'Rate limit exceeded. This request costs more than its limit ever allows.',
    );
  });
});
