import { global } from '@floodgate/http';
import {
  denied,
  fields,
  get,
  head,
  IN_A_MINUTE,
  legacy,
  limited,
  served,
  userOf,
  withJson,
} from '../notation.ts';
import type { Scenario } from '../scenario.ts';

export const denials: readonly Scenario[] = [
  {
    name: 'a body function answers a value, which is sent as JSON',
    limiters: [
      {
        options: {
          quota: 'fixed-window 1/1m',
          body: ({ tightest }, request) => ({ slowDown: tightest.policy, user: userOf(request) }),
        },
      },
    ],
    steps: [
      [get('/hello'), served(legacy(1, 0, 60))],
      [
        get('/hello', { 'x-user': 'Zo\u00eb' }),
        withJson(
          denied(60, legacy(1, 0, 60)),
          // Header values are Latin-1, bodies UTF-8.
          '{"slowDown":"default","user":"Zo\u00eb"}',
        ),
      ],
    ],
  },
  {
    name: 'a body function may answer a text, or nothing, and the status stays',
    limiters: [
      {
        options: {
          quota: 'fixed-window 1/1m',
          body: async (_, request) => request.headers['x-say'],
        },
      },
    ],
    steps: [
      [get('/hello'), served(legacy(1, 0, 60))],
      [
        get('/hello', { 'x-say': 'slow down' }),
        {
          ...denied(60, legacy(1, 0, 60)),
          type: 'text/plain; charset=utf-8',
          body: 'slow down',
        },
      ],
      [get('/hello'), { ...denied(60, legacy(1, 0, 60)), body: '' }],
    ],
  },
  {
    name: 'message and statusCode are told',
    limiters: [
      {
        options: {
          quota: 'fixed-window 1/1m',
          statusCode: 420,
          message: ({ tightest }, { url }) => `${url}: \u2615 after ${tightest.retryAfterMs} ms`,
        },
      },
    ],
    steps: [
      [get('/hello'), served(legacy(1, 0, 60))],
      [
        get('/hello?x=1'),
        {
          ...limited(60, legacy(1, 0, 60), {
            ...IN_A_MINUTE,
            message: '/hello?x=1: \u2615 after 60000 ms',
          }),
          status: 420,
        },
      ],
    ],
  },
  {
    name: 'a handler answers with the status and headers that are set',
    limiters: [{ options: { quota: 'fixed-window 1/1m' }, handler: true }],
    steps: [
      [get('/hello'), served(legacy(1, 0, 60))],
      [get('/hello'), withJson(denied(60, legacy(1, 0, 60)), '{"slowDown":"default"}')],
    ],
  },
  {
    name: 'a hidden policy is in no header and no body, and has a status of its own',
    limiters: [
      {
        options: {
          policies: [
            {
              name: 'fleet',
              quota: 'fixed-window 2/1m',
              key: global(),
              hidden: true,
              statusCode: 503,
            },
            { name: 'user', quota: 'fixed-window 5/1m' },
          ],
          headers: ['legacy', 'draft-8'],
          message: () => 'We are busy.',
        },
      },
    ],
    steps: [
      [
        get('/hello'),
        served({ ...legacy(5, 4, 60), ...fields('"user";q=5;w=60', '"user";r=4;t=60') }),
      ],
      [
        get('/hello'),
        served({ ...legacy(5, 3, 60), ...fields('"user";q=5;w=60', '"user";r=3;t=60') }),
      ],
      [
        get('/hello'),
        withJson(
          denied(60, { ...legacy(5, 3, 60), ...fields('"user";q=5;w=60', '"user";r=3;t=60') }, 503),
          '{"error":{"code":"RATE_LIMITED","message":"We are busy.",' +
            '"retryAfter":60,"resetAt":1771416060}}',
        ),
      ],
    ],
  },
  {
    name: 'HEAD is answered like GET, without a body, from the same count',
    limiters: [{ options: { quota: 'fixed-window 2/1m' } }],
    steps: [
      [head('/hello'), served(legacy(2, 1, 60), '')],
      [get('/hello'), served(legacy(2, 0, 60), 'hello')],
      [head('/hello'), limited(60, legacy(2, 0, 60), IN_A_MINUTE)],
      [get('/hello'), limited(60, legacy(2, 0, 60), IN_A_MINUTE)],
    ],
  },
];
