import { connect } from 'node:net';
import { ManualClock } from '@floodgate/core/testing';
import { describe, expect, test } from '@jest/globals';
import type Koa from 'koa';
import supertest from 'supertest';
import { byHeader, byIp, MemoryStore, rateLimit } from '../src/index.ts';
import { type AppOptions, limitedApp, quietApp } from './app.ts';
import { send, serve } from './server.ts';
import { versions } from './versions.ts';

describe.each(versions)('%s', (_, make) => {
  // Koa itself never answers a request that fails with undefined or null.
  const failing: [name: string, options: AppOptions][] = [
    ['a key that rejects with nothing', { key: () => Promise.reject() }],
    ['a cost that rejects with a text', { cost: () => Promise.reject('text') }],
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
    [
      'a handler that rejects with nothing',
      { quota: 'fixed-window 0/1m', handler: () => Promise.reject() },
    ],
    [
      'a handler that throws null',
      {
        quota: 'fixed-window 0/1m',
        handler: () => {
          throw null;
        },
      },
    ],
  ];

  test.each(failing)('%s is answered, and does not lift the limit', async (_, options) => {
    const response = await supertest(limitedApp(make, options).callback()).get('/');
    expect(response.status).toBe(500);
  });

  test('requests that wait behind others on a connection leave with it', async () => {
    const clock = new ManualClock();
    let served = 0;
    const app = quietApp(make);
    app.use(rateLimit({ quota: 'leaky-bucket 10 1/1s', store: new MemoryStore({ clock }) }));
    app.use((ctx) => {
      served += 1;
      ctx.body = 'served';
    });
    await serve(app, async (at) => {
      const socket = connect(at as number, '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(4));
      // The first is served at once; three wait, all behind one another.
      while (clock.sleeping < 3) await new Promise(setImmediate);
      socket.destroy();
      while (clock.sleeping > 0) await new Promise(setImmediate);
      clock.advance(60_000);
      await new Promise(setImmediate);
      expect(served).toBe(1);
    });
  });

  describe('whoever leaves while the key is looked up waits for no turn', () => {
    /** An app whose second request has to wait a second, once `find` is called; it tells whom it served. */
    function lookingUp(): {
      app: Koa;
      clock: ManualClock;
      found: (() => void)[];
      served: string[];
    } {
      const clock = new ManualClock();
      const found: (() => void)[] = [];
      const served: string[] = [];
      const app = quietApp(make);
      app.use((ctx, next) => {
        ctx.req.socket.once('close', () => app.emit('closed'));
        // As one that answers in place of what takes too long.
        if (ctx.path === '/late') setImmediate(() => ctx.res.end('late'));
        return next();
      });
      app.use(
        rateLimit({
          quota: 'leaky-bucket 10 1/1s',
          store: new MemoryStore({ clock }),
          key: (ctx) =>
            ctx.path === '/first'
              ? 'a'
              : new Promise<string>((resolve) => found.push(() => resolve('a'))),
        }),
      );
      app.use((ctx) => {
        served.push(ctx.path);
        if (ctx.path === '/first') ctx.respond = false;
        else ctx.body = 'served';
      });
      return { app, clock, found, served };
    }

    test('with a connection, on which it came behind another', async () => {
      const { app, clock, found, served } = lookingUp();
      await serve(app, async (at) => {
        const socket = connect(at as number, '127.0.0.1');
        const head = 'HTTP/1.1\r\nHost: localhost\r\n\r\n';
        socket.write(`GET /first ${head}GET /second ${head}`);
        while (found.length < 1) await new Promise(setImmediate);
        const closed = new Promise((resolve) => app.once('closed', resolve));
        socket.destroy();
        await closed;
        found[0]?.();
        await new Promise(setImmediate);
        expect([clock.sleeping, served]).toEqual([0, ['/first']]);
      });
    });

    test('with a response that another has ended', async () => {
      const { app, clock, found, served } = lookingUp();
      await serve(app, async (at) => {
        const first = send(at, '/first');
        while (served.length < 1) await new Promise(setImmediate);
        const socket = connect(at as number, '127.0.0.1');
        socket.write('GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n');
        let answer = '';
        socket.on('data', (chunk) => {
          answer += chunk;
        });
        while (!answer.endsWith('late\r\n0\r\n\r\n') && !answer.endsWith('\r\n\r\nlate')) {
          await new Promise(setImmediate);
        }
        found[0]?.();
        await new Promise(setImmediate);
        expect([clock.sleeping, served]).toEqual([0, ['/first']]);
        socket.destroy();
        first.destroy();
      });
    });
  });

  test('a header that every object has is not one that was sent', async () => {
    const app = limitedApp(make, { key: [byHeader('constructor'), byIp()] });
    expect((await supertest(app.callback()).get('/')).status).toBe(200);
  });
});
