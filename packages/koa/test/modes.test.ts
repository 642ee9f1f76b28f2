import { ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type Koa from 'koa';
import supertest from 'supertest';
import { MemoryStore } from '../src/index.ts';
import { type AppOptions, limitedApp, rateHeaders } from './app.ts';
import { answer, send, serve } from './server.ts';
import { versions } from './versions.ts';

const NOON_MS = Date.parse('2026-02-18T12:00:00Z');

describe.each(versions)('%s', (_, make) => {
  let clock: ManualClock;
  let store: MemoryStore;

  beforeEach(() => {
    clock = new ManualClock(NOON_MS);
    store = new MemoryStore({ clock });
  });

  function limited(options: AppOptions = {}): Koa {
    return limitedApp(make, { store, ...options });
  }

  describe('a request that is not limited', () => {
    test.each<[string, AppOptions]>([
      ['skip', { skip: () => true }],
      ['skip in a promise', { skip: async () => true }],
      ['mode off', { mode: 'off' }],
      ['mode off by a function', { mode: () => 'off' }],
    ])('gets no headers and is not counted (%s)', async (_, options) => {
      const agent = supertest(limited(options).callback());
      for (let i = 0; i < 4; i += 1) {
        const { headers } = await agent.get('/').expect(200);
        expect(rateHeaders(headers)).toEqual([
          undefined,
          undefined,
          undefined,
          undefined,
          undefined,
        ]);
      }
      expect(store.size).toBe(0);
    });
  });

  describe('shadow mode', () => {
    test.each<[string, AppOptions]>([
      ['of a window', { quota: '1/1m' }],
      ['of a shaped bucket', { quota: 'leaky-bucket 2 1/1s' }],
      ['without a key', { key: () => undefined }],
      [
        'with an error',
        {
          key: () => {
            throw new Error('Told to fail');
          },
        },
      ],
      ['with a wrong limit', { quota: () => 'none' }],
      ['in part', { policies: [{ name: 'a', quota: '1/1m', mode: () => 'shadow' }] }],
    ])('changes not a byte of what the client gets (%s)', async (_, options) => {
      const seen: unknown[] = [];
      const watched = limited({ mode: 'shadow', onEvent: (event) => seen.push(event), ...options });
      const bare = limited({ mode: 'off', store: new MemoryStore() });
      for (const path of ['/', '/text', '/stream', '/raw', '/nowhere', '/fails', '/cached']) {
        const ask = (at: number | string): Promise<string> => answer(send(at, path));
        expect(await serve(watched, ask)).toBe(await serve(bare, ask));
      }
    });

    test('reports what it would have done', async () => {
      const verdicts: boolean[] = [];
      const app = limited({
        mode: 'shadow',
        onVerdict: ({ tightest }) => verdicts.push(tightest.allowed),
      });
      const agent = supertest(app.callback());
      for (let i = 0; i < 5; i += 1) await agent.get('/').expect(200);
      expect(verdicts).toEqual([true, true, true, false, false]);
    });
  });
});
