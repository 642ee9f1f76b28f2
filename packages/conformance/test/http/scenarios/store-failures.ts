import {
  denied,
  get,
  head,
  IN_A_MINUTE,
  legacy,
  limited,
  post,
  served,
  storeFails,
  storeRecovers,
  withJson,
} from '../notation.ts';
import type { Scenario } from '../scenario.ts';

const UNAVAILABLE = withJson(
  denied(1, {}, 503),
  '{"error":{"code":"RATE_LIMITER_UNAVAILABLE",' +
    '"message":"The rate limiter is unavailable. Try again in 1 second.","retryAfter":1}}',
);

const byRule = (remote: boolean): readonly Scenario[] => {
  const where = remote ? 'a store behind a network' : 'a store in this process';
  return [
    {
      name: `${where} that fails, and the rule to deny`,
      remote,
      limiters: [{ options: { quota: 'fixed-window 3/1m', onStoreError: 'deny' } }],
      steps: [
        [get('/hello'), served(legacy(3, 2, 60))],
        storeFails,
        [get('/hello'), UNAVAILABLE],
        [head('/hello'), UNAVAILABLE],
        storeRecovers,
        [get('/hello'), served(legacy(3, 1, 60))],
      ],
      events: ['degraded', 'recovered'],
    },
    {
      name: `${where} that fails, and the rule to allow`,
      remote,
      limiters: [{ options: { quota: 'fixed-window 1/1m', onStoreError: 'allow' } }],
      steps: [
        storeFails,
        [get('/hello'), served({}, 'hello')],
        [post('/echo', 'a'), served({}, 'a')],
        storeRecovers,
        [get('/hello'), served(legacy(1, 0, 60))],
        [get('/hello'), limited(60, legacy(1, 0, 60), IN_A_MINUTE)],
      ],
      events: ['degraded', 'recovered'],
    },
  ];
};

export const storeFailures: readonly Scenario[] = [
  ...byRule(false),
  ...byRule(true),
  {
    name: 'a store that fails, and a memory store takes over with its part of the limit',
    limiters: [{ options: { quota: 'fixed-window 3/1m', instances: 2 } }],
    steps: [
      [get('/hello'), served(legacy(3, 2, 60))],
      storeFails,
      [get('/hello'), served(legacy(2, 1, 60))],
      [get('/hello'), served(legacy(2, 0, 60))],
      [get('/hello'), limited(60, legacy(2, 0, 60), IN_A_MINUTE)],
      storeRecovers,
      [get('/hello'), served(legacy(3, 1, 60))],
    ],
    events: ['degraded', 'recovered'],
  },
];
