import { connect } from 'node:net';
import { ManualClock } from '@floodgate/core/testing';
import { describe, expect, test } from '@jest/globals';
import supertest from 'supertest';
import { MemoryStore } from '../src/index.ts';
import { type AppOptions, limitedApp } from './app.ts';
import { serve } from './server.ts';
import { versions } from './versions.ts';

describe.each(versions)('%s', (_, make) => {
  /** Fails with whatever is given, in the same turn or in a promise. */
  const failing: [name: string, options: AppOptions][] = [
    ['a key that rejects with nothing', { key: () => Promise.reject() }],
    ['a cost that rejects with a word of the router', { cost: () => Promise.reject('route') }],
    [
      'a limit that throws null',
      {
        quota: () => {
          throw null;
        },
      },
    ],
    [
      'a skip that throws undefined',
      {
        skip: () => {
          throw undefined;
        },
      },
    ],
  ];

  test.each(failing)('%s does not lift the limit', async (_, options) => {
    const response = await supertest(limitedApp(make, options)).get('/');
    expect(response.status).toBe(500);
  });

  test('a handler that rejects with nothing does not run the route', async () => {
    const agent = supertest(
      limitedApp(make, { quota: 'fixed-window 0/1m', handler: () => Promise.reject() }),
    );
    expect((await agent.get('/')).body).not.toEqual({ ok: true });
  });

  test('requests that wait behind others on a connection leave with it', async () => {
    const clock = new ManualClock();
    let served = 0;
    const app = limitedApp(make, {
      quota: 'leaky-bucket 10 1/1s',
      store: new MemoryStore({ clock }),
    });
    app.get('/counted', (_, response) => {
      served += 1;
      response.end();
    });
    await serve(app, async (at) => {
      const socket = connect(at as number, '127.0.0.1');
      socket.write('GET /counted HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(4));
      // The first is served at once; three wait, all behind one another.
      while (clock.sleeping < 3) await new Promise(setImmediate);
      socket.destroy();
      while (clock.sleeping > 0) await new Promise(setImmediate);
      clock.advance(60_000);
      await new Promise(setImmediate);
      expect(served).toBe(1);
    });
  });

  test('a header that every object has is not one that was sent', async () => {
    const { byHeader, byIp } = await import('../src/index.ts');
    const app = limitedApp(make, { key: [byHeader('constructor'), byIp()] });
    expect((await supertest(app).get('/')).status).toBe(200);
  });
});
