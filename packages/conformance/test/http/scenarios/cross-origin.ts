import {
  answered,
  denied,
  fields,
  get,
  IN_A_MINUTE,
  legacy,
  limited,
  options,
  preflight,
  served,
  THREE,
} from '../notation.ts';
import type { Scenario } from '../scenario.ts';

const EXPOSED_LEGACY =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Date';
const EXPOSED_8 = 'RateLimit, RateLimit-Policy, Retry-After, Date';

export const crossOrigin: readonly Scenario[] = [
  {
    name: 'exposeHeaders adds to what other middleware exposes',
    before: { 'Access-Control-Expose-Headers': 'X-A' },
    limiters: [
      { options: { quota: 'fixed-window 1/1m', headers: 'draft-8', exposeHeaders: true } },
    ],
    steps: [
      [
        get('/hello'),
        served({
          ...fields('"default";q=1;w=60', '"default";r=0;t=60'),
          'access-control-expose-headers': `X-A, ${EXPOSED_8}`,
        }),
      ],
      [
        get('/hello'),
        denied(60, {
          ...fields('"default";q=1;w=60', '"default";r=0;t=60'),
          'access-control-expose-headers': `X-A, ${EXPOSED_8}`,
        }),
      ],
    ],
  },
  {
    name: 'exposeHeaders repeats no name that is there in whatever case',
    before: { 'Access-Control-Expose-Headers': 'ratelimit,DATE' },
    limiters: [
      { options: { quota: 'fixed-window 3/1m', headers: 'draft-8', exposeHeaders: true } },
    ],
    steps: [
      [
        get('/hello'),
        served({
          ...fields('"default";q=3;w=60', '"default";r=2;t=60'),
          'access-control-expose-headers': 'ratelimit,DATE, RateLimit-Policy, Retry-After',
        }),
      ],
    ],
  },
  {
    name: 'exposeHeaders names what there is to see',
    limiters: [{ options: { quota: 'fixed-window 3/1m', exposeHeaders: true } }],
    steps: [
      [
        get('/hello'),
        served({
          ...legacy(3, 2, 60),
          'access-control-expose-headers': EXPOSED_LEGACY,
        }),
      ],
    ],
  },
  {
    name: 'without exposeHeaders nothing is added; what other middleware said stays on denials too',
    before: { 'Access-Control-Expose-Headers': 'X-A' },
    limiters: [{ options: { quota: 'fixed-window 1/1m' } }],
    steps: [
      [get('/hello'), served({ ...legacy(1, 0, 60), 'access-control-expose-headers': 'X-A' })],
      [get('/hello'), denied(60, { ...legacy(1, 0, 60), 'access-control-expose-headers': 'X-A' })],
    ],
  },
  {
    name: 'preflights are not counted and never denied',
    limiters: [{ options: { quota: 'fixed-window 2/1m' } }],
    steps: [
      [preflight, answered(204)],
      [get('/hello'), served(legacy(2, 1, 60))],
      [preflight, answered(204)],
      [get('/hello'), served(legacy(2, 0, 60))],
      [preflight, answered(204)],
      [get('/hello'), limited(60, legacy(2, 0, 60), IN_A_MINUTE)],
      [preflight, answered(204)],
    ],
  },
  {
    name: 'countPreflight counts and denies them',
    limiters: [{ options: { quota: 'fixed-window 1/1m', countPreflight: true } }],
    steps: [
      [preflight, answered(204, legacy(1, 0, 60))],
      [preflight, limited(60, legacy(1, 0, 60), IN_A_MINUTE)],
    ],
  },
  {
    name: 'any other OPTIONS counts',
    limiters: [THREE],
    steps: [
      [options('/hello'), answered(204, legacy(3, 2, 60))],
      [options('/hello', { origin: 'https://app.example' }), answered(204, legacy(3, 1, 60))],
      [
        options('/hello', { 'access-control-request-method': 'GET' }),
        answered(204, legacy(3, 0, 60)),
      ],
      [options('/hello'), limited(60, legacy(3, 0, 60), IN_A_MINUTE)],
    ],
  },
];
