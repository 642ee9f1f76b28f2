import {
  advance,
  answered,
  costOf,
  denied,
  fields,
  get,
  IN_A_MINUTE,
  legacy,
  limited,
  NEVER,
  post,
  served,
  userOf,
} from '../notation.ts';
import type { AnyRequest, Options, Scenario } from '../scenario.ts';

const MINUTE_AND_HOUR: Options = {
  policies: [
    { name: 'minute', quota: 'fixed-window 3/1m' },
    { name: 'hour', quota: 'fixed-window 4/1h' },
  ],
};

export const severalPolicies: readonly Scenario[] = [
  {
    name: 'of several policies the tightest shows, and the one that denied; denied by one is charged by none',
    limiters: [{ options: MINUTE_AND_HOUR }],
    steps: [
      [get('/hello'), served(legacy(3, 2, 60))],
      [get('/hello'), served(legacy(3, 1, 60))],
      [get('/hello'), served(legacy(3, 0, 60))],
      [
        get('/hello'),
        limited(60, legacy(3, 0, 60), {
          ...IN_A_MINUTE,
          policy: 'minute',
          limits: '{"minute":{"limit":3,"remaining":0},"hour":{"limit":4,"remaining":1}}',
        }),
      ],
      advance(60_000),
      [get('/hello'), served(legacy(4, 0, 3600))],
      [
        get('/hello'),
        limited(3540, legacy(4, 0, 3600), {
          again: '59 minutes',
          resetS: 3600,
          policy: 'hour',
          limits: '{"minute":{"limit":3,"remaining":2},"hour":{"limit":4,"remaining":0}}',
        }),
      ],
    ],
  },
  {
    name: 'legacyPolicy shows while the request is admitted, and the denying one else',
    limiters: [{ options: { ...MINUTE_AND_HOUR, legacyPolicy: 'hour' } }],
    steps: [
      [get('/hello'), served(legacy(4, 3, 3600))],
      [get('/hello'), served(legacy(4, 2, 3600))],
      [get('/hello'), served(legacy(4, 1, 3600))],
      [get('/hello'), denied(60, legacy(3, 0, 60))],
    ],
  },
  {
    name: 'a policy applies when it says so; where none does, nothing is said',
    limiters: [
      {
        options: {
          policies: [
            {
              name: 'writes',
              quota: 'fixed-window 1/1m',
              when: ({ method }: AnyRequest) => method === 'POST',
            },
          ],
        },
      },
    ],
    steps: [
      [get('/hello'), served({}, 'hello')],
      [post('/echo', 'a'), served(legacy(1, 0, 60), 'a')],
      [post('/echo', 'a'), denied(60, legacy(1, 0, 60))],
      [get('/hello'), served({}, 'hello')],
    ],
  },
  {
    name: 'the limit may come with each request, and is of that request only',
    limiters: [{ options: { limit: costOf('x-limit'), window: '1m', key: userOf } }],
    steps: [
      [get('/key', { 'x-user': 'ann', 'x-limit': '10' }), served(legacy(10, 9, 60), 'custom:ann')],
      [get('/key', { 'x-user': 'ben', 'x-limit': '5' }), served(legacy(5, 4, 60), 'custom:ben')],
      [get('/key', { 'x-user': 'ann', 'x-limit': '10' }), served(legacy(10, 8, 60))],
      [get('/key', { 'x-user': 'ann', 'x-limit': 'many' }), answered(500)],
      [get('/key', { 'x-user': 'ann', 'x-limit': '4' }), served(legacy(4, 1, 60))],
    ],
  },
  {
    name: 'a request may cost more than one, and what is denied uses nothing',
    limiters: [{ options: { quota: 'fixed-window 3/1m', cost: costOf('x-cost') } }],
    steps: [
      [get('/hello', { 'x-cost': '2' }), served(legacy(3, 1, 60))],
      [get('/hello', { 'x-cost': '2' }), limited(60, legacy(3, 1, 60), IN_A_MINUTE)],
      [get('/hello', { 'x-cost': '0' }), served(legacy(3, 1, 60))],
      [get('/hello'), served(legacy(3, 0, 60))],
    ],
  },
  {
    name: 'a cost above the limit is denied without a time to come again',
    limiters: [{ options: { quota: 'fixed-window 3/1m', cost: costOf('x-cost') } }],
    steps: [
      [get('/hello', { 'x-cost': '4' }), limited(undefined, legacy(3, 3), NEVER)],
      [get('/hello', { 'x-cost': '3' }), served(legacy(3, 0, 60))],
    ],
  },
  {
    name: 'a limit of 0 denies everything, without a time to come again',
    limiters: [{ options: { quota: 'fixed-window 0/1m', headers: ['legacy', 'draft-8'] } }],
    steps: [
      [
        get('/hello'),
        limited(
          undefined,
          { ...legacy(0, 0), ...fields('"default";q=0;w=60', '"default";r=0') },
          NEVER,
        ),
      ],
    ],
  },
];
