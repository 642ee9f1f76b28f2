import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect as connectHttp2, constants, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type RateLimitPluginOptions, rateLimit } from '@floodgate/fastify';
import { MemoryStore, onlyFailures, type ResponseEnd } from '@floodgate/http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { makeApp } from './http/apps/make-app.ts';
import { frameworks } from './http/frameworks.ts';
import type { Options } from './http/scenario.ts';

// However a response ends, its costs are settled once: over real sockets, with each framework.

let server: Server | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  if (server === undefined) return;
  server.close();
  // One of HTTP/2 has none: its sessions are closed by their tests.
  server.closeAllConnections?.();
  await once(server, 'close');
  server = undefined;
});

describe.each(frameworks)('$framework', ({ framework }) => {
  async function serve(options: Options): Promise<number> {
    const store = new MemoryStore();
    const limiters = [{ on: ['app' as const], options, handler: false }];
    const common = { store, onEvent: () => {} };
    const app = await makeApp[framework]({ trust: 'none', before: {}, common, limiters });
    server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  /** Serves with a `settle` that keeps what it is told. */
  async function watch(quota = '100/1m'): Promise<{ port: number; ends: ResponseEnd[] }> {
    const ends: ResponseEnd[] = [];
    const settle: NonNullable<Options['settle']> = (end) => {
      ends.push(end);
      return 0;
    };
    return { port: await serve({ quota, settle }), ends };
  }

  test.each([
    ['/hello', 200],
    ['/stream', 200],
    ['/raw', 200],
    ['/not-modified', 304],
    ['/forbidden', 403],
    ['/nowhere', 404],
    ['/boom', 500],
  ])('%s, whose status is %d, is settled once, with its status', async (path, status) => {
    const { port, ends } = await watch();
    const socket = open(port);
    ask(socket, path);
    await until(() => ends.length > 0);
    socket.destroy();
    await later();
    expect(ends).toEqual([{ status, completed: true }]);
  });

  test('a client that goes away before it is answered is settled once', async () => {
    const { port, ends } = await watch();
    const socket = open(port);
    ask(socket, '/hang');
    await once(server as Server, 'request');
    await later();
    expect(ends).toEqual([]);
    socket.destroy();
    await until(() => ends.length > 0);
    await later();
    expect(ends).toEqual([{ status: 499, completed: false }]);
  });

  test('a stream that breaks half-way is settled once', async () => {
    const { port, ends } = await watch();
    const socket = open(port);
    ask(socket, '/broken');
    // Koa 2 leaves the response open, for the client to give up.
    if (framework === 'Koa 2') await once(socket, 'data').then(() => socket.destroy());
    await until(() => ends.length > 0);
    await later();
    expect(ends).toEqual([{ status: 200, completed: false }]);
  });

  test('a client that goes away while it is held back is settled once', async () => {
    const { port, ends } = await watch('leaky-bucket 5 1/1h');
    const [first, second] = [open(port), open(port)];
    ask(first, '/hello');
    await until(() => ends.length > 0);
    // What the first one's bucket held was given back: fill it with one that stays.
    ask(first, '/hang');
    await once(server as Server, 'request');
    ask(second, '/hello');
    await once(server as Server, 'request');
    await later();
    second.destroy();
    await until(() => ends.length > 1);
    await later();
    expect(ends).toEqual([
      { status: 200, completed: true },
      { status: 499, completed: false },
    ]);
  });

  test('each of several requests on one connection is settled once when that breaks', async () => {
    const { port, ends } = await watch();
    const socket = open(port);
    let requests = 0;
    server?.on('request', () => {
      requests += 1;
    });
    ask(socket, '/hang');
    ask(socket, '/hello');
    ask(socket, '/hang');
    await until(() => requests === 3);
    await later();
    socket.destroy();
    await until(() => ends.length === 3);
    await later();
    expect(ends).toHaveLength(3);
    expect(ends.every(({ completed }) => !completed)).toBe(true);
  });

  test('200 wrong guesses at once: exactly five reach the handler, and then it is blocked', async () => {
    const quota = 'sliding-window-log 5/15m block=15m';
    const port = await serve({ quota, settle: onlyFailures() });
    const guess = async (): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}/forbidden`)).status;
    const statuses = await Promise.all(Array.from({ length: 200 }, guess));
    expect(statuses.filter((status) => status === 403)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(195);
    const { status, headers } = await fetch(`http://127.0.0.1:${port}/hello`);
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([429, '0']);
    // Blocked from the fifth failure on, and not only full.
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(14 * 60);
  });

  test('20 at once that succeed block nobody', async () => {
    const quota = 'sliding-window-log 5/15m block=15m';
    const port = await serve({ quota, settle: onlyFailures() });
    const ask = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/hello`)).status;
    await Promise.all(Array.from({ length: 20 }, ask));
    for (let i = 0; i < 10; i += 1) expect(await ask()).toBe(200);
  });
});

describe('HTTP/2', () => {
  const serveBy: Readonly<Record<string, (options: Options) => Promise<number>>> = {
    async Fastify(options) {
      const app = fastify({ http2: true });
      await app.register(rateLimit, options as RateLimitPluginOptions);
      app.get('/hello', async () => 'hello');
      app.get('/hang', () => new Promise(() => {}));
      await app.listen({ port: 0, host: '127.0.0.1' });
      server = app.server as unknown as Server;
      return (app.server.address() as AddressInfo).port;
    },
    async Koa(options) {
      const limiters = [{ on: ['app' as const], options, handler: false }];
      const common = { store: new MemoryStore(), onEvent: () => {} };
      const app = await makeApp['Koa 3']({ trust: 'none', before: {}, common, limiters });
      const http2 = createHttp2Server(app as unknown as Parameters<typeof createHttp2Server>[0]);
      server = http2.listen(0, '127.0.0.1') as unknown as Server;
      await once(http2, 'listening');
      return (http2.address() as AddressInfo).port;
    },
  };

  test.each(Object.keys(serveBy))('%s: a response is settled once, as it ended', async (name) => {
    const ends: ResponseEnd[] = [];
    const settle: NonNullable<Options['settle']> = (end) => {
      ends.push(end);
      return 0;
    };
    const port = await serveBy[name]?.({ quota: '100/1m', settle });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    try {
      session.request({ ':path': '/hello' }).resume();
      await until(() => ends.length === 1);
      const cut = session.request({ ':path': '/hang' }).on('error', () => {});
      await once(server as Server, 'request');
      await later();
      cut.close(constants.NGHTTP2_CANCEL);
      await until(() => ends.length === 2);
      await later();
      expect(ends).toEqual([
        { status: 200, completed: true },
        { status: 499, completed: false },
      ]);
    } finally {
      session.destroy();
    }
  });
});

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  return socket.resume();
}

function ask(socket: Socket, path: string): void {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
}

/** Of a millisecond or more each. */
const MOST_TRIES = 3000;

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries += 1) {
    if (tries === MOST_TRIES) throw new Error('It does not come');
    await setTimeout(1);
  }
}

/** Long enough for what would happen twice to do so: nothing is to be seen of what does not happen. */
const later = (): Promise<void> => setTimeout(30);
