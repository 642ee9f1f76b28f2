import { byIp, byUser, fromAddresses, global } from '@floodgate/http';
import {
  answered,
  denied,
  get,
  IN_A_MINUTE,
  legacy,
  limited,
  served,
  userOf,
} from '../notation.ts';
import type { Scenario } from '../scenario.ts';

export const keysAndModes: readonly Scenario[] = [
  {
    name: 'skip knows who connects to a dual-stack socket',
    limiters: [{ options: { quota: 'fixed-window 0/1m', skip: fromAddresses(['127.0.0.1']) } }],
    steps: [[get('/key'), served({}, 'none')]],
  },
  {
    name: 'skip may take its time',
    limiters: [
      {
        options: {
          quota: 'fixed-window 1/1m',
          skip: async ({ headers }) => headers['x-internal'] === 'yes',
        },
      },
    ],
    steps: [
      [get('/key', { 'x-internal': 'yes' }), served({}, 'none')],
      [get('/key'), served(legacy(1, 0, 60), 'ip:127.0.0.1')],
      [get('/key'), limited(60, legacy(1, 0, 60), IN_A_MINUTE)],
      [get('/key', { 'x-internal': 'yes' }), served({}, 'none')],
    ],
  },
  {
    name: 'the first resolver that finds something wins',
    limiters: [{ options: { quota: 'fixed-window 1/1m', key: [byUser(userOf), byIp()] } }],
    steps: [
      [get('/key', { 'x-user': 'ann' }), served(legacy(1, 0, 60), 'user:ann')],
      [get('/key'), served(legacy(1, 0, 60), 'ip:127.0.0.1')],
      [get('/key', { 'x-user': 'ben' }), served(legacy(1, 0, 60), 'user:ben')],
      [get('/key', { 'x-user': 'ann' }), denied(60, legacy(1, 0, 60))],
      [get('/key', { 'x-user': '127.0.0.1' }), served(legacy(1, 0, 60), 'user:127.0.0.1')],
    ],
  },
  {
    name: 'where no key is found the request fails through the framework, and nothing is counted',
    limiters: [
      {
        options: {
          policies: [
            { name: 'all', quota: 'fixed-window 2/1m', key: global() },
            { name: 'user', quota: 'fixed-window 9/1m', key: byUser(userOf) },
          ],
        },
      },
    ],
    steps: [
      [get('/hello'), answered(500)],
      [get('/hello'), answered(500)],
      [get('/hello', { 'x-user': 'ann' }), served(legacy(2, 1, 60))],
      [get('/hello', { 'x-user': 'ann' }), served(legacy(2, 0, 60))],
      [get('/hello'), answered(500)],
    ],
  },
  {
    name: 'in shadow mode a limiter decides, and the client sees nothing of it',
    limiters: [{ options: { quota: 'fixed-window 1/1m', mode: 'shadow' } }],
    steps: [
      [get('/key'), served({}, 'ip:127.0.0.1')],
      [get('/key'), served({}, 'ip:127.0.0.1')],
      [get('/boom'), answered(500)],
    ],
  },
  {
    name: 'a policy in shadow mode is not seen beside one that is enforced',
    limiters: [
      {
        options: {
          policies: [
            { name: 'old', quota: 'fixed-window 2/1m' },
            { name: 'new', quota: 'fixed-window 1/1m', mode: 'shadow' },
          ],
        },
      },
    ],
    steps: [
      [get('/hello'), served(legacy(2, 1, 60))],
      [get('/hello'), served(legacy(2, 0, 60))],
      [get('/hello'), limited(60, legacy(2, 0, 60), { ...IN_A_MINUTE, policy: 'old' })],
    ],
  },
  {
    name: 'the mode may come with each request; off is no limit at all',
    limiters: [
      {
        options: {
          quota: 'fixed-window 0/1m',
          mode: ({ headers }) => headers['x-mode'] as 'enforce' | 'shadow' | 'off',
        },
      },
    ],
    steps: [
      [get('/key', { 'x-mode': 'off' }), served({}, 'none')],
      [get('/key', { 'x-mode': 'shadow' }), served({}, 'ip:127.0.0.1')],
      [get('/key', { 'x-mode': 'enforce' }), denied(undefined, legacy(0, 0))],
    ],
  },
];
