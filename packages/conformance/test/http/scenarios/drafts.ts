import {
  advance,
  costOf,
  denied,
  draft6,
  fields,
  get,
  IN_A_MINUTE,
  legacy,
  limited,
  served,
  withProblem,
} from '../notation.ts';
import type { Options, Scenario } from '../scenario.ts';

/** 60 a minute and 1000 a day, each with a cost of its own. */
const MINUTE_AND_DAY: Options = {
  policies: [
    {
      name: 'permin',
      quota: 'fixed-window 60/1m align=first-request',
      cost: costOf('x-minute'),
    },
    { name: 'perday', quota: 'fixed-window 1000/1d', cost: costOf('x-day') },
  ],
};
const MINUTE_AND_DAY_8 = '"permin";q=60;w=60, "perday";q=1000;w=86400';
const MINUTE_AND_DAY_6 = '60;w=60, 1000;w=86400';

/** The problem of these policies, with the type that the draft registers. */
const quotaExceeded = (violated: string): string =>
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded",' +
  `"status":429,"violated-policies":${violated}}`;

export const headersOfDrafts: readonly Scenario[] = [
  {
    name: 'draft-8 of one policy',
    limiters: [{ options: { limit: 100, window: '1m', headers: 'draft-8' } }],
    steps: [[get('/hello'), served(fields('"default";q=100;w=60', '"default";r=99;t=60'))]],
  },
  {
    name: 'draft-7 of one policy',
    limiters: [{ options: { limit: 100, window: '1m', headers: 'draft-7' } }],
    steps: [[get('/hello'), served(fields('100;w=60', 'limit=100, remaining=99, reset=60'))]],
  },
  {
    name: 'draft-6 of one policy',
    limiters: [{ options: { limit: 100, window: '1m', headers: 'draft-6' } }],
    steps: [[get('/hello'), served(draft6(100, 99, 60, '100;w=60'))]],
  },
  {
    name: 'draft-8 of two policies',
    start: '2026-02-18T13:59:40Z',
    limiters: [{ options: { ...MINUTE_AND_DAY, headers: 'draft-8' } }],
    steps: [
      [
        get('/hello', { 'x-minute': '17', 'x-day': '458' }),
        served(fields(MINUTE_AND_DAY_8, '"permin";r=43;t=60, "perday";r=542;t=36020')),
      ],
      advance(20_000),
      [
        get('/hello'),
        served(fields(MINUTE_AND_DAY_8, '"permin";r=42;t=40, "perday";r=541;t=36000')),
      ],
    ],
  },
  {
    name: 'draft-7 of two policies: the tightest, or the one that is named',
    start: '2026-02-18T13:59:40Z',
    limiters: [{ options: { ...MINUTE_AND_DAY, headers: 'draft-7', legacyPolicy: 'permin' } }],
    steps: [
      [
        get('/hello', { 'x-minute': '17', 'x-day': '458' }),
        served(fields(MINUTE_AND_DAY_6, 'limit=60, remaining=43, reset=60')),
      ],
      advance(20_000),
      [get('/hello'), served(fields(MINUTE_AND_DAY_6, 'limit=60, remaining=42, reset=40'))],
    ],
  },
  {
    name: 'draft-6 of two policies, the one that is named',
    start: '2026-02-18T13:59:40Z',
    limiters: [{ options: { ...MINUTE_AND_DAY, headers: 'draft-6', legacyPolicy: 'permin' } }],
    steps: [
      [
        get('/hello', { 'x-minute': '17', 'x-day': '458' }),
        served(draft6(60, 43, 60, MINUTE_AND_DAY_6)),
      ],
      advance(20_000),
      [get('/hello'), served(draft6(60, 42, 40, MINUTE_AND_DAY_6))],
    ],
  },
  {
    name: 'drafts 6 and 7 at once, of two policies the one with the least share left',
    start: '2026-02-18T14:00:00Z',
    limiters: [{ options: { ...MINUTE_AND_DAY, headers: ['draft-6', 'draft-7'] } }],
    steps: [
      [
        get('/hello', { 'x-minute': '18', 'x-day': '459' }),
        served({
          ...draft6(1000, 541, 36_000, MINUTE_AND_DAY_6),
          ratelimit: 'limit=1000, remaining=541, reset=36000',
        }),
      ],
    ],
  },
  {
    name: 'draft-8 and the problem of a request that one policy denies',
    start: '2026-02-18T09:59:19.800Z',
    limiters: [{ options: { ...MINUTE_AND_DAY, headers: 'draft-8', body: 'problem' } }],
    steps: [
      [
        get('/hello', { 'x-minute': '60', 'x-day': '60' }),
        served(fields(MINUTE_AND_DAY_8, '"permin";r=0;t=60, "perday";r=940;t=50441')),
      ],
      advance(40_200),
      [
        get('/hello'),
        withProblem(
          denied(20, fields(MINUTE_AND_DAY_8, '"permin";r=0;t=20, "perday";r=940;t=50400')),
          quotaExceeded('["permin"]'),
        ),
      ],
    ],
  },
  {
    name: 'draft-8 and the problem of a request that both policies deny',
    start: '2026-02-18T09:59:19.800Z',
    limiters: [{ options: { ...MINUTE_AND_DAY, headers: 'draft-8', body: 'problem' } }],
    steps: [
      [
        get('/hello', { 'x-minute': '60', 'x-day': '1000' }),
        served(fields(MINUTE_AND_DAY_8, '"permin";r=0;t=60, "perday";r=0;t=50441')),
      ],
      advance(40_200),
      [
        get('/hello'),
        withProblem(
          denied(50_400, fields(MINUTE_AND_DAY_8, '"permin";r=0;t=20, "perday";r=0;t=50400')),
          quotaExceeded('["permin","perday"]'),
        ),
      ],
    ],
  },
  {
    name: 'drafts 6 and 7 of a denial show the policy that denied',
    start: '2026-02-18T09:59:19.800Z',
    limiters: [
      { options: { ...MINUTE_AND_DAY, headers: ['draft-6', 'draft-7'], legacyPolicy: 'perday' } },
    ],
    steps: [
      [
        get('/hello', { 'x-minute': '60', 'x-day': '60' }),
        served({
          ...draft6(1000, 940, 50_441, MINUTE_AND_DAY_6),
          ratelimit: 'limit=1000, remaining=940, reset=50441',
        }),
      ],
      advance(40_200),
      [
        get('/hello'),
        denied(20, {
          ...draft6(60, 0, 20, MINUTE_AND_DAY_6),
          ratelimit: 'limit=60, remaining=0, reset=20',
        }),
      ],
    ],
  },
  {
    name: 'draft-8 of a token bucket: its window is the time to fill, parts of a token are none',
    limiters: [
      {
        options: {
          name: 'tb',
          quota: 'token-bucket 20 5/1s',
          cost: costOf('x-cost'),
          headers: 'draft-8',
        },
      },
    ],
    steps: [
      [get('/hello', { 'x-cost': '20' }), served(fields('"tb";q=20;w=4', '"tb";r=0;t=4'))],
      [get('/hello'), denied(1, fields('"tb";q=20;w=4', '"tb";r=0;t=1'))],
      [get('/hello', { 'x-cost': '3' }), denied(1, fields('"tb";q=20;w=4', '"tb";r=0;t=1'))],
      [get('/hello', { 'x-cost': '6' }), denied(2, fields('"tb";q=20;w=4', '"tb";r=0;t=2'))],
      advance(580),
      [get('/hello', { 'x-cost': '3' }), denied(1, fields('"tb";q=20;w=4', '"tb";r=2;t=1'))],
      advance(20),
      [get('/hello', { 'x-cost': '3' }), served(fields('"tb";q=20;w=4', '"tb";r=0;t=4'))],
    ],
  },
  {
    name: 'draft-8 writes any name as RFC 9651 does',
    limiters: [{ options: { name: 'a"b\\c', quota: 'fixed-window 3/1m', headers: 'draft-8' } }],
    steps: [[get('/hello'), served(fields('"a\\"b\\\\c";q=3;w=60', '"a\\"b\\\\c";r=2;t=60'))]],
  },
  {
    name: 'several families at once',
    limiters: [{ options: { quota: 'fixed-window 1/1m', headers: ['legacy', 'draft-8'] } }],
    steps: [
      [
        get('/hello'),
        served({
          ...legacy(1, 0, 60),
          ...fields('"default";q=1;w=60', '"default";r=0;t=60'),
        }),
      ],
      [
        get('/hello'),
        limited(
          60,
          { ...legacy(1, 0, 60), ...fields('"default";q=1;w=60', '"default";r=0;t=60') },
          IN_A_MINUTE,
        ),
      ],
    ],
  },
  {
    name: 'no headers but those of a denial',
    limiters: [{ options: { quota: 'fixed-window 1/1m', headers: false } }],
    steps: [
      [get('/hello'), served({}, 'hello')],
      [get('/hello'), limited(60, {}, IN_A_MINUTE)],
    ],
  },
];
