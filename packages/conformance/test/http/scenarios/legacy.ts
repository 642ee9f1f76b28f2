import {
  advance,
  denied,
  get,
  head,
  IN_A_MINUTE,
  legacy,
  limited,
  post,
  served,
  THREE,
} from '../notation.ts';
import type { Scenario } from '../scenario.ts';

export const headersOfLegacy: readonly Scenario[] = [
  {
    name: 'legacy headers count down, deny to the very millisecond, and start anew',
    limiters: [THREE],
    steps: [
      [get('/hello'), served(legacy(3, 2, 60), 'hello')],
      [get('/hello'), served(legacy(3, 1, 60), 'hello')],
      [get('/hello'), served(legacy(3, 0, 60), 'hello')],
      [get('/hello'), limited(60, legacy(3, 0, 60), IN_A_MINUTE)],
      [get('/json'), limited(60, legacy(3, 0, 60), IN_A_MINUTE)],
      advance(55_200),
      [
        get('/hello'),
        limited(5, legacy(3, 0, 60), {
          again: '5 seconds',
          resetS: 60,
        }),
      ],
      advance(4799),
      [
        get('/hello'),
        limited(1, legacy(3, 0, 60), {
          again: '1 second',
          resetS: 60,
        }),
      ],
      advance(1),
      [get('/hello'), served(legacy(3, 2, 120))],
    ],
  },
  {
    name: 'the same with a store behind a network',
    remote: true,
    limiters: [THREE],
    steps: [
      [get('/hello'), served(legacy(3, 2, 60), 'hello')],
      [post('/echo', 'what was sent'), served(legacy(3, 1, 60), 'what was sent')],
      [head('/hello'), served(legacy(3, 0, 60), '')],
      [get('/hello'), limited(60, legacy(3, 0, 60), IN_A_MINUTE)],
      [post('/echo', 'what was sent'), limited(60, legacy(3, 0, 60), IN_A_MINUTE)],
      advance(60_000),
      [get('/json'), served(legacy(3, 2, 120), '{"ok":true}')],
    ],
  },
  {
    // Two in the first minute: of the next, 2 x 59999 / 60000 count as 1 after one millisecond.
    name: 'the shorthand is a sliding window counter, whose wait may pass the window',
    limiters: [{ options: { limit: 2, window: '1m' } }],
    steps: [
      [get('/hello'), served(legacy(2, 1, 60))],
      [get('/hello'), served(legacy(2, 0, 60))],
      [
        get('/hello'),
        limited(61, legacy(2, 0, 61), {
          again: '2 minutes',
          resetS: 61,
        }),
      ],
      advance(60_000),
      [
        get('/hello'),
        limited(1, legacy(2, 0, 61), {
          again: '1 second',
          resetS: 61,
        }),
      ],
      advance(1),
      [get('/hello'), served(legacy(2, 0, 121))],
    ],
  },
  {
    name: 'a sliding window log waits for its oldest entry',
    limiters: [{ options: { quota: 'sliding-window-log 2/1m' } }],
    steps: [
      [get('/hello'), served(legacy(2, 1, 60))],
      advance(10_000),
      [get('/hello'), served(legacy(2, 0, 70))],
      advance(10_000),
      [get('/hello'), denied(40, legacy(2, 0, 60))],
      advance(39_999),
      [get('/hello'), denied(1, legacy(2, 0, 60))],
      advance(1),
      [get('/hello'), served(legacy(2, 0, 120))],
    ],
  },
  {
    name: 'a token bucket waits for its next token',
    limiters: [{ options: { quota: 'token-bucket 2 2/1m' } }],
    steps: [
      [get('/hello'), served(legacy(2, 1, 30))],
      [get('/hello'), served(legacy(2, 0, 60))],
      [
        get('/hello'),
        limited(30, legacy(2, 0, 30), {
          again: '30 seconds',
          resetS: 30,
        }),
      ],
      advance(29_999),
      [get('/hello'), denied(1, legacy(2, 0, 30))],
      advance(1),
      [get('/hello'), served(legacy(2, 0, 90))],
    ],
  },
  {
    name: 'a leaky bucket holds a request back until its turn',
    limiters: [{ options: { quota: 'leaky-bucket 2 1/1s' } }],
    steps: [
      [get('/hello'), served(legacy(2, 1, 1))],
      [get('/hello'), served(legacy(2, 0, 2), 'hello'), { heldMs: 1000 }],
      [post('/echo', 'still there'), served(legacy(2, 0, 3), 'still there'), { heldMs: 1000 }],
    ],
  },
  {
    name: 'a denial that starts a block says when the block ends',
    limiters: [{ options: { quota: 'fixed-window 1/1m block=15m' } }],
    steps: [
      [get('/hello'), served(legacy(1, 0, 60))],
      [
        get('/hello'),
        limited(900, legacy(1, 0, 900), {
          again: '15 minutes',
          resetS: 900,
        }),
      ],
      advance(60_000),
      [
        get('/hello'),
        limited(840, legacy(1, 0, 900), {
          again: '14 minutes',
          resetS: 900,
        }),
      ],
      advance(840_000),
      [get('/hello'), served(legacy(1, 0, 960))],
    ],
  },
];
