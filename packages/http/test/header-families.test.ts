import { MemoryStore } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseList } from 'structured-headers';
import { type HeaderFamily, HttpLimiter, type Outcome, type PolicyOptions } from '../src/index.ts';
import { action, header, type Options } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');
const RATE_LIMIT = /^(x-)?ratelimit/i;

describe('one policy of 100 a minute, first request', () => {
  test.each<[HeaderFamily, Record<string, string>]>([
    [
      'legacy',
      {
        'X-RateLimit-Limit': '100',
        'X-RateLimit-Remaining': '99',
        'X-RateLimit-Reset': String(NOON_MS / 1000 + 60),
      },
    ],
    [
      'draft-6',
      {
        'RateLimit-Limit': '100',
        'RateLimit-Remaining': '99',
        'RateLimit-Reset': '60',
        'RateLimit-Policy': '100;w=60',
      },
    ],
    [
      'draft-7',
      {
        RateLimit: 'limit=100, remaining=99, reset=60',
        'RateLimit-Policy': '100;w=60',
      },
    ],
    [
      'draft-8',
      {
        'RateLimit-Policy': '"default";q=100;w=60',
        RateLimit: '"default";r=99;t=60',
      },
    ],
  ])('%s', (headers, expected) => {
    const { decide } = limiterWith({ quota: 'fixed-window 100/1m', headers });
    expect(limitHeaders(decide())).toEqual(expected);
  });
});

describe('two policies: 42 of 60 left for 40 s, 541 of 1,000 for 36,000 s', () => {
  const policies: PolicyOptions<TestRequest>[] = [
    { name: 'permin', quota: 'fixed-window 60/1m', cost: 18 },
    { name: 'perday', quota: 'fixed-window 1000/1d', cost: 459 },
  ];
  // 14:00:20: 40 s to the minute's end, and ten hours but 20 s to the day's.
  const atMs = Date.parse('2026-02-18T14:00:20Z');
  const toMidnight = '35980';

  test.each<[HeaderFamily, Record<string, string>]>([
    [
      'draft-6',
      {
        'RateLimit-Limit': '1000',
        'RateLimit-Remaining': '541',
        'RateLimit-Reset': toMidnight,
        'RateLimit-Policy': '60;w=60, 1000;w=86400',
      },
    ],
    [
      'draft-7',
      {
        RateLimit: `limit=1000, remaining=541, reset=${toMidnight}`,
        'RateLimit-Policy': '60;w=60, 1000;w=86400',
      },
    ],
    [
      'draft-8',
      {
        'RateLimit-Policy': '"permin";q=60;w=60, "perday";q=1000;w=86400',
        RateLimit: `"permin";r=42;t=40, "perday";r=541;t=${toMidnight}`,
      },
    ],
  ])('%s', (headers, expected) => {
    const { decide } = limiterWith({ policies, headers }, atMs);
    expect(limitHeaders(decide())).toEqual(expected);
  });

  test('legacyPolicy is what those with room for one show, while the request is admitted', () => {
    const headers = ['legacy', 'draft-7'] as const;
    const { decide } = limiterWith({ policies, headers, legacyPolicy: 'permin' }, atMs);
    expect(limitHeaders(decide())).toMatchObject({
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '42',
      RateLimit: 'limit=60, remaining=42, reset=40',
    });
    decide();
    // The day has 82 left, too few for a third of 459.
    const denied = decide();
    expect(action(denied)).toBe('deny');
    expect(limitHeaders(denied)).toMatchObject({
      'X-RateLimit-Limit': '1000',
      RateLimit: `limit=1000, remaining=82, reset=${toMidnight}`,
    });
  });

  test('legacyPolicy gives way where its policy was not asked', () => {
    const { decide } = limiterWith({
      policies: [
        { name: 'some', quota: '60/1m', when: () => false },
        { name: 'all', quota: '10/1m' },
      ],
      legacyPolicy: 'some',
    });
    expect(limitHeaders(decide())).toMatchObject({ 'X-RateLimit-Limit': '10' });
  });
});

describe('a denial', () => {
  test.each<[HeaderFamily, Record<string, string>]>([
    ['draft-6', { 'RateLimit-Remaining': '0', 'RateLimit-Reset': '1' }],
    ['draft-7', { RateLimit: 'limit=1, remaining=0, reset=1' }],
    ['draft-8', { RateLimit: '"default";r=0;t=1' }],
  ])('with 0.2 s left tells 1 s, never 0: %s', (headers, expected) => {
    const { decide } = limiterWith({ quota: 'fixed-window 1/1m', headers }, NOON_MS + 59_800);
    decide();
    const denied = decide();
    expect(limitHeaders(denied)).toMatchObject(expected);
    expect(header(denied, 'Retry-After')).toBe('1');
  });

  test.each<[HeaderFamily, Record<string, string>]>([
    ['legacy', { 'X-RateLimit-Limit': '0', 'X-RateLimit-Remaining': '0' }],
    [
      'draft-6',
      { 'RateLimit-Limit': '0', 'RateLimit-Remaining': '0', 'RateLimit-Policy': '0;w=60' },
    ],
    // This one has a reset always.
    ['draft-7', { RateLimit: 'limit=0, remaining=0, reset=60', 'RateLimit-Policy': '0;w=60' }],
    ['draft-8', { RateLimit: '"default";r=0', 'RateLimit-Policy': '"default";q=0;w=60' }],
  ])('tells no time where no wait helps: %s', (headers, expected) => {
    const { decide } = limiterWith({ limit: 0, window: '1m', headers });
    const denied = decide();
    expect(limitHeaders(denied)).toEqual(expected);
    expect(header(denied, 'Retry-After')).toBeUndefined();
  });
});

test('a token bucket is told by the time it takes to fill', () => {
  const { decide } = limiterWith({ quota: 'token-bucket 20 5/1s', name: 'tb', headers: 'draft-8' });
  expect(limitHeaders(decide())).toEqual({
    'RateLimit-Policy': '"tb";q=20;w=4',
    RateLimit: '"tb";r=19;t=1',
  });
});

test('drafts 6 and 7 tell policies apart by their limits, so of equal ones the tightest is told', () => {
  const { decide } = limiterWith({
    policies: [
      { name: 'a', quota: 'fixed-window 10/1s' },
      { name: 'b', quota: 'fixed-window 10/1m', cost: 2 },
      { name: 'c', quota: 'fixed-window 500/1h' },
      { name: 'd', quota: 'fixed-window 500/1d' },
    ],
    headers: 'draft-7',
  });
  expect(limitHeaders(decide())['RateLimit-Policy']).toBe('10;w=60, 500;w=3600');
});

test('several families are told at once', () => {
  const { decide } = limiterWith({ quota: '5/1m', headers: ['legacy', 'draft-8'] });
  expect(Object.keys(limitHeaders(decide()))).toEqual([
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'RateLimit-Policy',
    'RateLimit',
  ]);
});

test('drafts 6 and 7 together tell their policies once', () => {
  const { decide } = limiterWith({ quota: '5/1m', headers: ['draft-6', 'draft-7'] });
  const { headers } = decide() as Exclude<Outcome, { action: 'drop' }>;
  expect(headers.filter(([name]) => name === 'RateLimit-Policy')).toEqual([
    ['RateLimit-Policy', '5;w=60'],
  ]);
});

describe('draft-8', () => {
  test('escapes a name, whatever it is, so that it parses back equal', () => {
    const printable = fc.string({ unit: fc.constantFrom(...PRINTABLE), minLength: 1 });
    fc.assert(
      fc.property(printable, (name) => {
        const { decide } = limiterWith({ quota: '5/1m', name, headers: 'draft-8' });
        const { RateLimit, 'RateLimit-Policy': policy } = limitHeaders(decide());
        expect(parseList(RateLimit ?? '')[0]?.[0]).toBe(name);
        expect(parseList(policy ?? '')[0]?.[0]).toBe(name);
      }),
    );
    const { decide } = limiterWith({ quota: '5/1m', name: 'a"b\\c', headers: 'draft-8' });
    expect(limitHeaders(decide()).RateLimit).toBe('"a\\"b\\\\c";r=4;t=60');
  });

  test('follows a limit that comes with the request', () => {
    const { decide } = limiterWith({
      limit: ({ user }) => Number(user),
      window: '1m',
      headers: 'draft-8',
    });
    const policyFor = (user: number): unknown => limitHeaders(decide({ user }))['RateLimit-Policy'];
    expect([10, 10, 7].map(policyFor)).toEqual([
      '"default";q=10;w=60',
      '"default";q=10;w=60',
      '"default";q=7;w=60',
    ]);
  });

  test('tells no more than a field can hold of a limit that comes with the request', () => {
    const { decide } = limiterWith({ limit: () => 10 ** 15, window: '1m', headers: 'draft-8' });
    expect(limitHeaders(decide())).toEqual({
      'RateLimit-Policy': '"default";q=999999999999999;w=60',
      RateLimit: '"default";r=999999999999999;t=60',
    });
  });
});

describe('exposeHeaders', () => {
  const names = 'RateLimit, RateLimit-Policy, Retry-After, Date';

  test.each([
    ['nothing', undefined, names],
    ['an empty one', '', names],
    ['another', 'X-A', `X-A, ${names}`],
    [
      'some of them, in other letters',
      'date,ratelimit',
      'date,ratelimit, RateLimit-Policy, Retry-After',
    ],
    ['all of them', names, undefined],
    ['a star, which is none with credentials', '*', `*, ${names}`],
  ])('extends %s', (_, before, after) => {
    const { decide } = limiterWith({ quota: '5/1m', headers: 'draft-8', exposeHeaders: true });
    const view = new TestView();
    if (before !== undefined) view.responseHeaders['access-control-expose-headers'] = before;
    expect(header(decide({}, view), 'Access-Control-Expose-Headers')).toBe(after);
  });

  test('is there on denials too, each name once', () => {
    const headers = ['legacy', 'draft-6', 'draft-7'] as const;
    const { decide } = limiterWith({ limit: 0, window: '1m', headers, exposeHeaders: true });
    expect(header(decide(), 'Access-Control-Expose-Headers')).toBe(
      'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit-Limit, ' +
        'RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, RateLimit, Retry-After, Date',
    );
  });

  test('is not there where nothing is told, as in shadow mode', () => {
    const { decide } = limiterWith({ quota: '0/1m', mode: 'shadow', exposeHeaders: true });
    expect(decide()).toMatchObject({ action: 'pass', headers: [] });
  });

  test('is off unless asked for', () => {
    const { decide } = limiterWith({ quota: '5/1m' });
    expect(header(decide(), 'Access-Control-Expose-Headers')).toBeUndefined();
  });
});

const PRINTABLE = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i));

function limiterWith(
  options: Options,
  atMs = NOON_MS,
): { decide: (request?: TestRequest, view?: TestView) => Outcome } {
  const store = new MemoryStore({ clock: new ManualClock(atMs) });
  const limiter = new HttpLimiter<TestRequest>({ store, ...options });
  return {
    decide: (request = {}, view = new TestView(request)) => limiter.decide(view) as Outcome,
  };
}

function limitHeaders(outcome: Outcome): Record<string, string> {
  const { headers } = outcome as Exclude<Outcome, { action: 'drop' }>;
  return Object.fromEntries(headers.filter(([name]) => RATE_LIMIT.test(name)));
}
