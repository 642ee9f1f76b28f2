import { answered, get, IN_A_MINUTE, legacy, limited, post, served, THREE } from '../notation.ts';
import type { Scenario } from '../scenario.ts';

export const responses: readonly Scenario[] = [
  {
    name: 'says what is left on every response, whatever it is',
    limiters: [{ options: { quota: 'fixed-window 10/1m' } }],
    steps: [
      [get('/json'), served(legacy(10, 9, 60), '{"ok":true}')],
      [post('/echo', 'a\u00e9'), served(legacy(10, 8, 60), 'a\u00e9')],
      [get('/not-modified'), answered(304, legacy(10, 7, 60))],
      [get('/empty'), answered(204, legacy(10, 6, 60))],
      [
        get('/cached'),
        served({ ...legacy(10, 5, 60), 'cache-control': 'public, max-age=60' }, 'cached'),
      ],
      [get('/nowhere'), answered(404, legacy(10, 4, 60))],
    ],
  },
  {
    name: 'says it on a stream of events, once',
    limiters: [{ options: { quota: 'fixed-window 1/1m' } }],
    steps: [
      [
        get('/stream', { accept: 'text/event-stream' }),
        served(legacy(1, 0, 60), 'data: 1\n\ndata: 2\n\n'),
      ],
      [get('/stream', { accept: 'text/event-stream' }), limited(60, legacy(1, 0, 60), IN_A_MINUTE)],
    ],
  },
  {
    name: 'says it where a handler answers past the framework',
    limiters: [{ options: { quota: 'fixed-window 1/1m' } }],
    steps: [
      [get('/raw'), served(legacy(1, 0, 60), 'raw')],
      [get('/raw'), limited(60, legacy(1, 0, 60), IN_A_MINUTE)],
    ],
  },
  {
    name: 'says it where a handler throws',
    limiters: [THREE],
    steps: [
      [get('/boom'), answered(500, legacy(3, 2, 60))],
      [get('/forbidden'), answered(403, legacy(3, 1, 60))],
    ],
  },
  {
    name: 'counts what is not found',
    limiters: [{ options: { quota: 'fixed-window 2/1m' } }],
    steps: [
      [get('/nowhere'), answered(404, legacy(2, 1, 60))],
      [post('/hello', 'a'), answered(404, legacy(2, 0, 60))],
      [get('/nowhere'), limited(60, legacy(2, 0, 60), IN_A_MINUTE)],
    ],
  },
];
