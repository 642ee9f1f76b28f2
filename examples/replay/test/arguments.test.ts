import { describe, expect, test } from '@jest/globals';
import { readArguments, UsageError } from '../src/arguments.ts';

test('what is not said has a default', () => {
  expect(readArguments(['--quota', '100/1m'])).toEqual({
    file: undefined,
    quota: { algorithm: 'sliding-window-counter', limit: 100, windowMs: 60_000 },
    top: 10,
    ipv6Prefix: 56,
    json: false,
  });
});

test('everything can be said, in any order', () => {
  const options = ['--json', '--top=0', '--ipv6-prefix', '64', '--quota=fixed-window 5/10s'];
  const said = { top: 0, ipv6Prefix: 64, json: true };
  expect(readArguments([...options, 'access.log'])).toMatchObject({ file: 'access.log', ...said });
  expect(readArguments(['access.log', ...options])).toMatchObject({ file: 'access.log', ...said });
  expect(readArguments(['--', 'access.log', ...options])).toMatchObject({ file: 'access.log' });
  expect(readArguments(['-', ...options])).toMatchObject({ file: undefined, ...said });
});

test('help comes before everything else', () => {
  expect(readArguments(['--help', '--quota', 'nonsense'])).toBe('help');
});

describe('a wrong command line is an error that says why', () => {
  test.each([
    [['--quota', '5/tomorrow'], /tomorrow/],
    [['--quota', 'token-bucket 5 0.5/1s'], /Expected `refillRate` to be/],
    [['--quota', 'guess 5/10s'], /Expected `algorithm` to be .*fixed-window.*, got `"guess"`/],
    [[], /^Expected --quota, such as --quota '100\/1m'$/],
    [['a.log', 'b.log', '--quota', '5/10s'], /^Expected one FILE, got a\.log, b\.log$/],
    [
      ['--quota', '5/10s', '--top', 'ten'],
      /^Expected --top to be a whole number, 0 or more, got ten$/,
    ],
    [['--quota', '5/10s', '--ipv6-prefix', '129'], /^Expected --ipv6-prefix .+ 1 to 128, got 129$/],
    [['--quota', '5/10s', '--colour'], /--colour/],
  ])('%j', (args, message) => {
    expect(() => readArguments(args)).toThrow(UsageError);
    expect(() => readArguments(args)).toThrow(message);
  });
});
