import { byRoute } from '@floodgate/http';
import {
  answered,
  denied,
  get,
  head,
  IN_A_MINUTE,
  legacy,
  limited,
  post,
  served,
} from '../notation.ts';
import type { Limiter, Scenario } from '../scenario.ts';

const LOGIN: Limiter = {
  on: ['/login'],
  options: { name: 'login', quota: 'fixed-window 1/1m' },
};
const notFound = (because: string) => ({ ...answered(404), because });
const LITERAL = 'compares paths as they were sent, encoded';
const STRICT = 'tells apart paths that differ in case or in a slash at the end';

export const routes: readonly Scenario[] = [
  {
    name: 'a limit without a name is the default one',
    limiters: [{ on: ['/login'], options: { quota: 'fixed-window 1/1m' } }],
    steps: [
      [get('/login'), served(legacy(1, 0, 60), 'welcome')],
      [
        get('/login'),
        limited(60, legacy(1, 0, 60), IN_A_MINUTE),
        {
          instead: {
            fastify: {
              ...limited(60, legacy(1, 0, 60), { ...IN_A_MINUTE, policy: 'GET /login' }),
              because:
                'adds limits in the config of a route to those of the app, and names them by the route',
            },
          },
        },
      ],
    ],
  },
  {
    name: "a limit of one route is no other one's",
    limiters: [LOGIN],
    steps: [
      [get('/hello'), served({}, 'hello')],
      [get('/login'), served(legacy(1, 0, 60), 'welcome')],
      [get('/login'), limited(60, legacy(1, 0, 60), { ...IN_A_MINUTE, policy: 'login' })],
      [get('/hello'), served({}, 'hello')],
      [get('/nowhere'), answered(404)],
    ],
  },
  {
    name: 'no spelling of a path that reaches its handler dodges its limit',
    limiters: [LOGIN],
    steps: [
      [get('/login'), served(legacy(1, 0, 60), 'welcome')],
      [get('/login?x=1'), denied(60, legacy(1, 0, 60))],
      [get('/login/'), denied(60, legacy(1, 0, 60)), { instead: { fastify: notFound(STRICT) } }],
      [get('/LOGIN'), denied(60, legacy(1, 0, 60)), { instead: { fastify: notFound(STRICT) } }],
      [
        get('/%6cogin'),
        denied(60, legacy(1, 0, 60)),
        { instead: { express: notFound(LITERAL), koa: notFound(LITERAL) } },
      ],
      // The first part of the path is empty, for all of them.
      [get('//login'), answered(404)],
    ],
  },
  {
    name: 'nor does one that reaches it dodge a count by route',
    limiters: [
      {
        on: ['/login'],
        options: { name: 'login', quota: 'fixed-window 1/1m', key: byRoute() },
      },
    ],
    steps: [
      [get('/login'), served(legacy(1, 0, 60), 'welcome')],
      [get('/login?x=1'), denied(60, legacy(1, 0, 60))],
      [get('/login/'), denied(60, legacy(1, 0, 60)), { instead: { fastify: notFound(STRICT) } }],
      [get('/LOGIN'), denied(60, legacy(1, 0, 60)), { instead: { fastify: notFound(STRICT) } }],
      [
        get('/%6cogin'),
        denied(60, legacy(1, 0, 60)),
        { instead: { express: notFound(LITERAL), koa: notFound(LITERAL) } },
      ],
    ],
  },
  {
    name: 'by route, all that one pattern matches is one',
    limiters: [
      {
        on: ['/users/:id'],
        options: { name: 'users', quota: 'fixed-window 5/1m', key: byRoute() },
      },
    ],
    steps: [
      [get('/users/1'), served(legacy(5, 4, 60), 'user 1')],
      [get('/users/2'), served(legacy(5, 3, 60), 'user 2')],
      [get('/users/%31?x=1'), served(legacy(5, 2, 60), 'user 1')],
      [head('/users/3'), served(legacy(5, 1, 60), '')],
      [get('/users/a:b%2Fc'), served(legacy(5, 0, 60), 'user a:b/c')],
      [get('/users/4'), limited(60, legacy(5, 0, 60), { ...IN_A_MINUTE, policy: 'users' })],
      [head('/users/5'), limited(60, legacy(5, 0, 60), { ...IN_A_MINUTE, policy: 'users' })],
    ],
  },
  {
    name: 'by route, a limiter of several routes counts each by its method and pattern',
    limiters: [
      {
        on: ['/key', '/users/:id', '/echo'],
        options: { quota: 'fixed-window 2/1m', key: byRoute() },
      },
    ],
    steps: [
      [get('/key'), served(legacy(2, 1, 60), 'route:GET%20/key')],
      [get('/users/1'), served(legacy(2, 1, 60))],
      [post('/echo', 'a'), served(legacy(2, 1, 60), 'a')],
      [post('/echo', 'a', { 'x-http-method-override': 'DELETE' }), served(legacy(2, 0, 60), 'a')],
      [post('/echo', 'a'), limited(60, legacy(2, 0, 60), IN_A_MINUTE)],
      [get('/key'), served(legacy(2, 0, 60))],
    ],
  },
  {
    name: 'a limiter of several routes has one count for all of them',
    limiters: [{ on: ['/hello', '/users/:id'], options: { quota: 'fixed-window 2/1m' } }],
    steps: [
      [get('/hello'), served(legacy(2, 1, 60))],
      [get('/users/1'), served(legacy(2, 0, 60))],
      [get('/hello'), limited(60, legacy(2, 0, 60), IN_A_MINUTE)],
      [get('/login'), served({}, 'welcome')],
    ],
  },
  {
    name: 'a limiter of a router under a prefix is met once, and by nothing else',
    limiters: [{ on: ['api'], options: { quota: 'fixed-window 2/1m' } }],
    steps: [
      [get('/api/things/1'), served(legacy(2, 1, 60), 'ip:127.0.0.1')],
      [get('/key'), served({}, 'none')],
      [get('/api/things/2'), served(legacy(2, 0, 60), 'ip:127.0.0.1')],
      [get('/api/things/3'), limited(60, legacy(2, 0, 60), IN_A_MINUTE)],
      [get('/key'), served({}, 'none')],
    ],
  },
  {
    name: 'by route, the prefix is part of the pattern',
    limiters: [
      {
        on: ['/api/things/:id'],
        options: { name: 'things', quota: 'fixed-window 2/1m', key: byRoute() },
      },
    ],
    steps: [
      [get('/api/things/1'), served(legacy(2, 1, 60), 'route:GET%20/api/things/:id')],
      [get('/api/things/2'), served(legacy(2, 0, 60))],
      [get('/api/things/3'), limited(60, legacy(2, 0, 60), { ...IN_A_MINUTE, policy: 'things' })],
    ],
  },
];
