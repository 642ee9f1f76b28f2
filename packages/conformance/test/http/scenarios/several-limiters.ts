import {
  advance,
  answered,
  denied,
  fields,
  get,
  legacy,
  limited,
  served,
  withProblem,
} from '../notation.ts';
import type { Limiter, Scenario } from '../scenario.ts';

const ALL: Limiter = { options: { name: 'all', quota: 'fixed-window 10/1m' } };
const LOGIN: Limiter = {
  on: ['/login'],
  options: { name: 'login', quota: 'fixed-window 1/1m' },
};

/** A limit of the whole app and one of a route: on one framework two limiters, on another one that has both. */
const givesBack = (remote: boolean): Scenario => ({
  name: `what a limit of a route denies uses nothing of the app's${remote ? ', on a store behind a network' : ''}`,
  remote,
  limiters: [ALL, LOGIN],
  steps: [
    [get('/hello'), served(legacy(10, 9, 60))],
    [get('/login'), served(legacy(1, 0, 60), 'welcome')],
    [
      get('/login'),
      limited(60, legacy(1, 0, 60), {
        again: '1 minute',
        resetS: 60,
        policy: 'login',
        limits: '{"all":{"limit":10,"remaining":8},"login":{"limit":1,"remaining":0}}',
      }),
    ],
    [get('/login'), denied(60, legacy(1, 0, 60))],
    [get('/hello'), served(legacy(10, 7, 60))],
  ],
});

export const severalLimiters: readonly Scenario[] = [
  givesBack(false),
  givesBack(true),
  {
    name: "what the app's limit denies uses nothing of a route's",
    limiters: [
      { options: { name: 'all', quota: 'fixed-window 1/1m' } },
      { on: ['/login'], options: { name: 'login', quota: 'fixed-window 2/1h' } },
    ],
    steps: [
      [get('/login'), served(legacy(1, 0, 60))],
      [get('/login'), denied(60, legacy(1, 0, 60))],
      advance(60_000),
      [get('/login'), served(legacy(1, 0, 120))],
      advance(60_000),
      [get('/login'), denied(3480, legacy(2, 0, 3600))],
    ],
  },
  {
    name: 'a later limiter gives back what an earlier one of another place took',
    limiters: [
      { on: ['app', '/hello'], options: { name: 'all', quota: 'token-bucket 5 1/1m' } },
      { on: ['/login', '/json'], options: { name: 'strict', quota: 'sliding-window-log 1/1m' } },
    ],
    steps: [
      [get('/login'), served(legacy(1, 0, 60))],
      [get('/json'), denied(60, legacy(1, 0, 60))],
      [get('/json'), denied(60, legacy(1, 0, 60))],
      [get('/hello'), served(legacy(5, 3, 120))],
    ],
  },
  {
    name: 'a limiter that is met twice charges once',
    limiters: [
      { on: ['app', '/login', '/json'], options: { name: 'all', quota: 'fixed-window 3/1m' } },
    ],
    steps: [
      [get('/login'), served(legacy(3, 2, 60))],
      [get('/json'), served(legacy(3, 1, 60))],
      [get('/hello'), served(legacy(3, 0, 60))],
      [get('/login'), denied(60, legacy(3, 0, 60))],
    ],
  },
  {
    name: 'a limiter of two routes is one count',
    limiters: [{ on: ['/login', '/json'], options: { name: 'both', quota: 'fixed-window 2/1m' } }],
    steps: [
      [get('/login'), served(legacy(2, 1, 60))],
      [get('/json'), served(legacy(2, 0, 60))],
      [get('/login'), denied(60, legacy(2, 0, 60))],
      [get('/hello'), served()],
    ],
  },
  {
    name: 'the headers of several limiters add up in draft 8',
    limiters: [
      { ...ALL, options: { ...ALL.options, headers: 'draft-8' } },
      { ...LOGIN, options: { ...LOGIN.options, headers: 'draft-8' } },
    ],
    steps: [
      [get('/hello'), served(fields('"all";q=10;w=60', '"all";r=9;t=60'))],
      [
        get('/login'),
        served(fields('"all";q=10;w=60, "login";q=1;w=60', '"all";r=8;t=60, "login";r=0;t=60')),
      ],
      [
        get('/login'),
        denied(60, fields('"all";q=10;w=60, "login";q=1;w=60', '"all";r=8;t=60, "login";r=0;t=60')),
      ],
    ],
  },
  {
    name: 'what no longer holds of an earlier limiter is removed',
    limiters: [
      { on: ['app', '/hello'], options: { name: 'all', quota: 'fixed-window 10/1m' } },
      { on: ['/login', '/json'], options: { name: 'dear', quota: 'fixed-window 1/1m', cost: 2 } },
    ],
    steps: [
      [get('/hello'), served(legacy(10, 9, 60))],
      [get('/login'), denied(undefined, legacy(1, 1))],
    ],
  },
  {
    name: 'of several limiters the tightest shows where there is room for one',
    limiters: [
      { options: { name: 'all', quota: 'fixed-window 2/1m' } },
      { on: ['/login'], options: { name: 'login', quota: 'fixed-window 5/1m' } },
    ],
    steps: [
      [get('/login'), served(legacy(2, 1, 60))],
      [get('/login'), served(legacy(2, 0, 60))],
      [get('/login'), denied(60, legacy(2, 0, 60))],
    ],
  },
  {
    name: 'the verdict is that of all limiters',
    limiters: [
      { on: ['app', '/hello'], options: { name: 'all', quota: '10/1m' } },
      { on: ['/key'], options: { name: 'key', quota: '5/1m', key: () => 'tight' } },
    ],
    steps: [[get('/key'), served(legacy(5, 4, 60), 'custom:tight')]],
  },
  {
    name: 'a limiter in shadow mode is not seen beside another',
    limiters: [
      { on: ['app', '/hello'], options: { name: 'watched', quota: '0/1m', mode: 'shadow' } },
      { on: ['/login'], options: { name: 'login', quota: 'fixed-window 1/1m' } },
    ],
    steps: [
      [get('/hello'), served()],
      [get('/login'), served(legacy(1, 0, 60))],
      [
        get('/login'),
        limited(60, legacy(1, 0, 60), { again: '1 minute', resetS: 60, policy: 'login' }),
      ],
    ],
  },
  {
    name: 'a denial tells of all policies that denied, and of what others have left',
    limiters: [
      {
        options: {
          body: 'problem',
          policies: [
            { name: 'minute', quota: 'fixed-window 1/1m' },
            { name: 'hour', quota: 'fixed-window 1/1h' },
          ],
        },
      },
    ],
    steps: [
      [get('/hello'), served(legacy(1, 0, 60))],
      [
        get('/hello'),
        withProblem(
          denied(3600, legacy(1, 0, 3600)),
          '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"violated-policies":["minute","hour"]}',
        ),
      ],
      [get('/nowhere'), answered(429, denied(3600, legacy(1, 0, 3600)).headers)],
    ],
  },
];
