import { onlyFailures, onlySuccesses } from '@floodgate/http';
import { advance, answered, denied, get, legacy, limited, served } from '../notation.ts';
import type { Options, Scenario } from '../scenario.ts';

/** What a request that is counted has left, at the time it was admitted. */
const FAILURES: Options = { name: 'failures', quota: 'fixed-window 3/1m', settle: onlyFailures() };

const failures = (remote: boolean): Scenario => ({
  name: `only failures count, once they are known${remote ? ', on a store behind a network' : ''}`,
  remote,
  limiters: [{ options: FAILURES }],
  steps: [
    [get('/hello'), served(legacy(3, 2, 60))],
    [get('/stream'), served(legacy(3, 2, 60))],
    [get('/raw'), served(legacy(3, 2, 60), 'raw')],
    [get('/forbidden'), answered(403, legacy(3, 2, 60))],
    [get('/not-modified'), answered(304, legacy(3, 1, 60))],
    [get('/boom'), answered(500, legacy(3, 1, 60))],
    [get('/nowhere'), answered(404, legacy(3, 1, 60))],
    [get('/empty'), answered(204, legacy(3, 0, 60))],
    [get('/forbidden'), answered(403, legacy(3, 0, 60))],
    [
      get('/hello'),
      limited(60, legacy(3, 0, 60), { again: '1 minute', resetS: 60, policy: 'failures' }),
    ],
  ],
});

export const settling: readonly Scenario[] = [
  failures(false),
  failures(true),
  {
    name: 'only successes count, once they are known',
    limiters: [{ options: { quota: 'fixed-window 2/1m', settle: onlySuccesses() } }],
    steps: [
      [get('/forbidden'), answered(403, legacy(2, 1, 60))],
      [get('/boom'), answered(500, legacy(2, 1, 60))],
      [get('/hello'), served(legacy(2, 1, 60))],
      [get('/not-modified'), answered(304, legacy(2, 0, 60))],
      [get('/forbidden'), denied(60, legacy(2, 0, 60))],
    ],
  },
  {
    name: 'a block starts with the failure that fills the quota',
    limiters: [{ options: { ...FAILURES, quota: 'sliding-window-log 2/1m block=15m' } as Options }],
    steps: [
      [get('/forbidden'), answered(403, legacy(2, 1, 60))],
      [get('/hello'), served(legacy(2, 0, 60))],
      advance(10_000),
      [get('/forbidden'), answered(403, legacy(2, 0, 70))],
      [get('/hello'), denied(900, legacy(2, 0, 910))],
      advance(899_999),
      [get('/hello'), denied(1, legacy(2, 0, 910))],
      advance(1),
      [get('/hello'), served(legacy(2, 1, 970))],
    ],
  },
  {
    name: 'the true cost may be more than was reserved, and is owed',
    limiters: [
      {
        options: {
          quota: 'token-bucket 500 1/1s',
          cost: 100,
          settle: ({ status }) => status * 3,
        },
      },
    ],
    steps: [
      [get('/hello'), served(legacy(500, 400, 100))],
      [get('/hello'), denied(200, legacy(500, 0, 200))],
    ],
  },
];
