import { describe, expect, test } from '@jest/globals';
import { ERROR_CODES, FloodgateError } from '../src/index.ts';
import { checkOptions, invalid } from '../src/internal.ts';

test('each code is there once, and says whose it is', () => {
  expect(new Set(ERROR_CODES).size).toBe(ERROR_CODES.length);
  for (const code of ERROR_CODES) expect(code).toMatch(/^FLOODGATE_[A-Z]+(_[A-Z]+)*$/);
});

test('an error has a name, a code, and what it was caused by', () => {
  const cause = new Error('refused');
  const error = new FloodgateError('FLOODGATE_STORE_FAILED', 'The store failed', { cause });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({
    name: 'FloodgateError',
    code: 'FLOODGATE_STORE_FAILED',
    message: 'The store failed',
    cause,
    retryAfterMs: undefined,
  });
  expect(String(error)).toBe('FloodgateError: The store failed');
  expect('cause' in new FloodgateError('FLOODGATE_NO_KEY', 'none')).toBe(false);
});

describe('a message shows what was got', () => {
  test.each([
    [-1, '`-1`'],
    [Number.NaN, '`NaN`'],
    [undefined, '`undefined`'],
    [null, '`null`'],
    [true, '`true`'],
    ['10', '`"10"`'],
    [10n, '`10n`'],
    [Symbol('x'), '`Symbol(x)`'],
    [() => 1, 'a function'],
    [[], 'an array'],
    [{}, 'an object'],
    [{ limit: 1, window: '1m' }, 'an object with `limit`, `window`'],
    [Object.create(null), 'an object'],
    ['multi\nline', '`"multi\\nline"`'],
  ])('%p', (got, shown) => {
    expect(invalid('FLOODGATE_INVALID_OPTION', 'limit', 'a number', got).message).toBe(
      `Expected \`limit\` to be a number, got ${shown}`,
    );
  });

  test('but never the whole of something long, which may be a secret', () => {
    const { message } = invalid('FLOODGATE_INVALID_OPTION', 'key', 'short', 'x'.repeat(1_000_000));
    expect(message.length).toBeLessThan(120);
    const keys = Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`key${i}`, 1]));
    expect(invalid('FLOODGATE_INVALID_OPTION', 'key', 'short', keys).message.length).toBeLessThan(
      120,
    );
  });
});

describe('options', () => {
  const check = (value: unknown) => () =>
    checkOptions('FLOODGATE_INVALID_OPTION', 'x options', value, ['limit', 'window']);

  test('may be left out, but not misspelt', () => {
    expect(check({})).not.toThrow();
    expect(check({ window: 1 })).not.toThrow();
    expect(check({ limit: undefined })).not.toThrow();
    expect(check({ limt: 1 })).toThrow(
      'Expected `x options` to have only `limit`, `window`, got `limt`',
    );
  });

  test.each([undefined, null, 1, 'limit', [], () => 1])('are an object, not %p', (value) => {
    expect(check(value)).toThrow('Expected `x options` to be an object with `limit`, `window`');
  });
});
