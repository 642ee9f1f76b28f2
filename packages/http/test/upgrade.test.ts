import { once } from 'node:events';
import { createServer, get, IncomingMessage, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, Socket } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectSecurely } from 'node:tls';
import { leakyBucket, MemoryStore } from '@floodgate/core';
import { FailingStore, ManualClock } from '@floodgate/core/testing';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WebSocketServer } from 'ws';
import { byHeader, type FloodgateEvent, global, keys, type Verdict } from '../src/index.ts';
import { limitUpgrade, type UpgradeLimitOptions, type UpgradeRequest } from '../src/upgrade.ts';

const oneAMinute: UpgradeLimitOptions = { quota: 'fixed-window 1/1m' };
/** The key of every client here. */
const client = keys.ip('127.0.0.1');

describe('an upgrade over its limit', () => {
  test('is answered as any request is, and its connection closed', async () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    await serve(echoServer({ ...oneAMinute, store }), async ({ open, sockets }) => {
      await untilEndsWith(open(frame('hi')), echoed('hi'));
      expect(await text(open())).toBe(
        [
          'HTTP/1.1 429 Too Many Requests',
          'X-RateLimit-Limit: 1',
          'X-RateLimit-Remaining: 0',
          'X-RateLimit-Reset: 1767225660',
          'Retry-After: 60',
          'Cache-Control: no-store',
          'Date: Thu, 01 Jan 2026 00:00:00 GMT',
          'Content-Type: application/json; charset=utf-8',
          'Content-Length: 145',
          'Connection: close',
          '',
          '{"error":{"code":"RATE_LIMITED","message":"Rate limit exceeded. Try again in 1 minute.",' +
            '"retryAfter":60,"resetAt":1767225660,"policy":"default"}}',
        ].join('\r\n'),
      );
      await until(() => sockets[1]?.closed === true);
      expect(sockets[0]?.closed).toBe(false);
    });
  });

  test.each<[string, Partial<UpgradeLimitOptions>, RegExp]>([
    ['a text', { body: () => 'Zu oft: ä' }, /Content-Length: 10\r\n.*\r\n\r\nZu oft: ä$/s],
    ['bytes', { body: () => new Uint8Array([97, 98]) }, /Content-Length: 2\r\n.*\r\n\r\nab$/s],
    ['nothing', { body: () => undefined }, /no-store\r\nDate: [^\r]*\r\nContent-Length: 0\r\n/],
    ['a status without a name', { statusCode: 499 }, /^HTTP\/1\.1 499 unknown\r\n/],
    ['no headers', { headers: false }, /^HTTP\/1\.1 429 Too Many Requests\r\nCache-Control: /],
    ['a store that fails', failing({ onStoreError: 'deny' }), /^HTTP\/1\.1 503 .*UNAVAILABLE/s],
    ['a store that answers later', { store: new FailingStore(new MemoryStore()) }, /^HTTP\S+ 429/],
  ])('is answered with %s', async (_, options, answer) => {
    const always = { limit: 0, window: '1m', onEvent: () => {}, ...options } as UpgradeLimitOptions;
    await serve(echoServer(always), async ({ open }) => {
      expect(await text(open())).toMatch(answer);
    });
  });

  test('gets its answer whole, however much the client has sent that nobody will read', async () => {
    await serve(echoServer({ limit: 0, window: '1m' }), async ({ open, sockets }) => {
      expect(await text(open('x'.repeat(1_000_000)))).toMatch(/^HTTP\S+ 429 .*\}\}$/s);
      await until(() => sockets[0]?.closed === true);
    });
  });

  test('is over its limit in the clothes of a preflight too', async () => {
    const preflight =
      'OPTIONS / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: other\r\n' +
      'Origin: https://example.com\r\nAccess-Control-Request-Method: GET\r\n\r\n';
    const options = { limit: 0, window: '1m', countPreflight: false } as const;
    await serve(echoServer(options), async ({ open }) => {
      expect(await text(open('', preflight))).toMatch(/^HTTP\S+ 429/);
    });
  });
});

/** How a client may go away. */
const goodbyes: [string, (socket: Socket) => void][] = [
  ['closes its connection', (socket) => socket.end()],
  ['resets its connection', (socket) => socket.resetAndDestroy()],
];

describe('a client that was refused', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'setInterval'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  test.each(goodbyes)('and %s leaves nothing behind', async (_, leave) => {
    await serve(echoServer({ limit: 0, window: '1m' }), async ({ connected, sockets }) => {
      const socket = connected({ allowHalfOpen: true });
      socket.write(HANDSHAKE);
      await untilEndsWith(socket, '}}');
      expect(jest.getTimerCount()).toBe(1);
      leave(socket);
      await until(() => jest.getTimerCount() === 0);
      expect(sockets[0]?.closed).toBe(true);
    });
  });

  test('after it had gone leaves nothing behind', async () => {
    const events: FloodgateEvent[] = [];
    const onEvent = (event: FloodgateEvent): unknown => events.push(event);
    let fail: ((error: Error) => void) | undefined;
    const key = (): Promise<string> =>
      new Promise((_, reject) => {
        fail = reject;
      });
    await serve(echoServer({ ...oneAMinute, key, onEvent }), async ({ open, sockets }) => {
      const socket = open();
      await until(() => fail !== undefined);
      socket.destroy();
      await once(sockets[0] as Socket, 'close');
      fail?.(new Error('Told to fail'));
      await until(() => events.length === 1);
      expect(jest.getTimerCount()).toBe(0);
    });
  });

  test('and keeps its side open has five seconds', async () => {
    await serve(echoServer({ limit: 0, window: '1m' }), async ({ connected, sockets }) => {
      const halfOpen = connected({ allowHalfOpen: true }).on('error', () => {});
      halfOpen.write(HANDSHAKE);
      expect(await untilEndsWith(halfOpen, '}}')).toMatch(/^HTTP\S+ 429/);
      jest.advanceTimersByTime(4999);
      await new Promise(setImmediate);
      expect(sockets[0]?.destroyed).toBe(false);
      halfOpen.write('More');
      jest.advanceTimersByTime(1);
      await until(() => sockets[0]?.closed === true);
      halfOpen.destroy();
    });
  });

  test('and never reads its answer has five seconds', async () => {
    const body = (): Buffer => Buffer.alloc(32 * 2 ** 20);
    await serve(echoServer({ limit: 0, window: '1m', body }), async ({ open, sockets }) => {
      const deaf = open().on('error', () => {});
      await until(() => sockets[0]?.writableEnded === true);
      jest.advanceTimersByTime(5000);
      await until(() => sockets[0]?.closed === true);
      expect(sockets[0]?.writableFinished).toBe(false);
      deaf.destroy();
    });
  });
});

test.each([
  ['for all', { limit: 1, window: '1m', settle: () => 0 } as const],
  ['for one policy', { policies: [{ name: 'a', quota: '1/1m', settle: () => 0 }] }],
])('a `settle` %s is refused: an upgrade has no response', (_, options) => {
  expect(() => limitUpgrade(createServer(), options)).toThrow(/no `settle`/);
});

describe('an upgrade under its limit', () => {
  test.each([
    ['before', (server: Server) => [echo(server), limitUpgrade(server, oneAMinute)]],
    ['after', (server: Server) => [limitUpgrade(server, oneAMinute), echo(server)]],
  ])('reaches a WebSocket server that was there %s the limiter', async (_, prepare) => {
    const server = createServer();
    prepare(server);
    await serve(server, async ({ open }) => {
      const socket = open(frame('early'));
      expect(await untilEndsWith(socket, echoed('early'))).toMatch(/^HTTP\/1\.1 101 /);
      socket.write(frame('late'), 'latin1');
      expect(await untilEndsWith(socket, echoed('late'))).toBe(echoed('late'));
      expect(await text(open())).toMatch(/^HTTP\S+ 429/);
    });
  });

  test('reaches every listener in the same turn, as it came', () => {
    const { server, upgrade, written } = fakeUpgrade();
    const seen: unknown[][] = [];
    server.on('upgrade', (...all) => seen.push(all));
    limitUpgrade(server, { ...oneAMinute, key: global() });
    server.prependListener('upgrade', (...all) => seen.push(all));
    expect(server.emit('upgrade', ...upgrade)).toBe(true);
    expect(seen.map((all) => all.map((one, i) => one === upgrade[i]))).toEqual([
      [true, true, true],
      [true, true, true],
    ]);
    expect(written()).toBe('');
    const another = fakeUpgrade();
    expect(server.emit('upgrade', ...another.upgrade)).toBe(true);
    expect(seen).toHaveLength(2);
    expect(another.written()).toMatch(/^HTTP\S+ 429/);
  });

  test('has the verdict on its request, but where it was not limited', async () => {
    const server = createServer();
    const seen: unknown[] = [];
    server.on('upgrade', (request: UpgradeRequest, socket: Duplex) => {
      seen.push(request.rateLimit?.tightest.remaining);
      socket.destroy();
    });
    const options = { limit: 5, window: '1m', skip: ({ url }: IncomingMessage) => url === '/free' };
    limitUpgrade(server, options as UpgradeLimitOptions);
    await serve(server, async ({ open }) => {
      await text(open());
      await text(open('', HANDSHAKE.replace('/chat', '/free')));
      await text(open());
    });
    expect(seen).toEqual([4, undefined, 3]);
  });

  test('gets what a listener throws past the limiter', () => {
    const { server, upgrade, written } = fakeUpgrade();
    const failure = new Error('The listener failed');
    server.on('upgrade', () => {
      throw failure;
    });
    limitUpgrade(server, { ...oneAMinute, key: global() });
    expect(() => server.emit('upgrade', ...upgrade)).toThrow(failure);
    expect(written()).toBe('');
  });

  test('is limited on a server with TLS too', async () => {
    // A shared key spares the test a certificate.
    const psk = Buffer.alloc(16, 'k');
    const tls = { ciphers: 'PSK-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' } as const;
    const server = createSecureServer({ ...tls, pskCallback: () => psk });
    limitUpgrade(server, oneAMinute);
    echo(server);
    await serve(server, async ({ port }) => {
      const opened = () => {
        const checkServerIdentity = () => undefined;
        const pskCallback = () => ({ psk, identity: 'test' });
        const options = { ...tls, port, host: '127.0.0.1', checkServerIdentity, pskCallback };
        return connectSecurely(options).setEncoding('latin1');
      };
      const first = opened();
      first.write(HANDSHAKE + frame('hi'), 'latin1');
      expect(await untilEndsWith(first, echoed('hi'))).toMatch(/^HTTP\S+ 101/);
      const second = opened();
      second.write(HANDSHAKE);
      expect(await text(second)).toMatch(/^HTTP\S+ 429/);
    });
  });
});

describe('while an upgrade waits', () => {
  const kinds: [string, () => Waiting][] = [
    [
      'for its turn',
      () => {
        const clock = new ManualClock();
        const quota = leakyBucket({ capacity: 3, leakRate: 1 });
        const options = { quota, store: new MemoryStore({ clock }) };
        return { options, waiting: () => clock.sleeping, free: () => clock.advance(60_000) };
      },
    ],
    [
      'for its key',
      () => {
        const waiting: (() => void)[] = [];
        let asked = 0;
        const key = (): string | Promise<string> => {
          asked += 1;
          if (asked === 1) return 'a';
          return new Promise((resolve) => waiting.push(() => resolve('a')));
        };
        const free = (): void => {
          for (const answer of waiting) answer();
        };
        return { options: { limit: 9, window: '1m', key }, waiting: () => waiting.length, free };
      },
    ],
  ];

  test.each(kinds)('%s, what its client sends waits with it', async (_, kind) => {
    const { options, waiting, free } = kind();
    await serve(echoServer(options), async ({ open, sockets }) => {
      await untilEndsWith(open(frame('first')), echoed('first'));
      const socket = open(frame('head'));
      await until(() => waiting() === 1);
      socket.write(frame('and more'), 'latin1');
      await until(() => sockets[1]?.readableLength === frame('and more').length);
      free();
      const all = await untilEndsWith(socket, echoed('head') + echoed('and more'));
      expect(all).toMatch(/^HTTP\S+ 101/);
      for (const event of ['close', 'end', 'error']) {
        expect(sockets[1]?.listenerCount(event)).toBe(sockets[0]?.listenerCount(event));
      }
    });
  });

  test.each(
    kinds.flatMap(([what, kind]) =>
      goodbyes.map(([how, leave]) => [what, how, kind, leave] as const),
    ),
  )('%s, a client that %s is let go, and nobody hears of it', async (_, __, kind, leave) => {
    const { options, waiting, free } = kind();
    const server = echoServer(options);
    let upgrades = 0;
    server.on('upgrade', () => {
      upgrades += 1;
    });
    await serve(server, async ({ open, sockets }) => {
      await untilEndsWith(open(frame('first')), echoed('first'));
      const socket = open();
      await until(() => waiting() === 1);
      leave(socket);
      await until(() => sockets[1]?.closed === true);
      free();
      for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
      expect(upgrades).toBe(1);
    });
  });

  test('for its turn, a client that goes gives it up at once', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const quota = leakyBucket({ capacity: 3, leakRate: 1 });
    await serve(echoServer({ quota, store }), async ({ open }) => {
      await untilEndsWith(open(frame('first')), echoed('first'));
      const socket = open();
      await until(() => clock.sleeping === 1);
      socket.end();
      await until(() => clock.sleeping === 0);
    });
  });

  test('its listeners may go: then its connection is closed', async () => {
    const clock = new ManualClock();
    const server = createServer();
    const store = new MemoryStore({ clock });
    limitUpgrade(server, { quota: leakyBucket({ capacity: 3, leakRate: 1 }), store });
    const webSockets = echo(server);
    await serve(server, async ({ open }) => {
      await untilEndsWith(open(frame('first')), echoed('first'));
      const socket = open();
      await until(() => clock.sleeping === 1);
      webSockets.close();
      clock.advance(1000);
      expect(await text(socket)).toBe('');
    });
  });
});

describe('an upgrade that cannot be decided', () => {
  const failure = new Error('Secret detail');
  const throwing = (): never => {
    throw failure;
  };

  test.each<[string, Partial<UpgradeLimitOptions>, unknown]>([
    [
      'no key',
      { key: byHeader('x-tenant') },
      expect.objectContaining({ code: 'FLOODGATE_NO_KEY' }),
    ],
    ['a function that throws', { cost: throwing }, failure],
    ['a function that rejects', { cost: async () => throwing() }, failure],
    ['a function that throws nothing', { key: () => Promise.reject() }, undefined],
    ['a body that throws', { limit: 0, window: '1m', body: throwing }, failure],
    [
      'a line break in a header',
      { store: lyingStore() },
      expect.objectContaining({ code: 'ERR_INVALID_CHAR' }),
    ],
  ])('is answered with 500 and told of (%s)', async (_, options, error) => {
    const events: [FloodgateEvent, IncomingMessage | undefined][] = [];
    const all = {
      limit: 5,
      window: '1m',
      onEvent: (event: FloodgateEvent, request?: IncomingMessage) => events.push([event, request]),
      ...options,
    } as UpgradeLimitOptions;
    await serve(echoServer(all), async ({ open, sockets }) => {
      expect(await text(open())).toBe(
        'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
      );
      await until(() => sockets[0]?.closed === true);
    });
    const message = expect.stringMatching(/^An upgrade was answered with 500: /);
    expect(events).toEqual([
      [{ code: 'warning', reason: 'upgrade-failed', message, error }, expect.any(IncomingMessage)],
    ]);
  });

  test('is told of once, however often a client causes it', async () => {
    const onEvent = jest.fn();
    await serve(echoServer({ ...oneAMinute, key: () => undefined, onEvent }), async ({ open }) => {
      for (let i = 0; i < 3; i += 1) expect(await text(open())).toMatch(/^HTTP\S+ 500/);
    });
    expect(onEvent).toHaveBeenCalledTimes(1);
  });

  test("is nobody's concern once its client is gone", () => {
    const { server, upgrade, written } = fakeUpgrade();
    const told = jest.fn();
    server.on('upgrade', told);
    limitUpgrade(server, { ...oneAMinute, onEvent: told });
    upgrade[1].destroy();
    expect(server.emit('upgrade', ...upgrade)).toBe(true);
    expect([told.mock.calls, written()]).toEqual([[], '']);
  });

  test('is told of by a warning of the process where there is no onEvent', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await serve(echoServer({ ...oneAMinute, key: throwing }), async ({ open }) => {
      expect(await text(open())).toMatch(/^HTTP\S+ 500/);
    });
    expect(warn.mock.calls).toEqual([
      [
        'An upgrade was answered with 500: Secret detail',
        { type: 'FloodgateWarning', code: 'warning' },
      ],
    ]);
    warn.mockRestore();
  });
});

describe('the handle', () => {
  test('peeks, blocks, unblocks and resets', async () => {
    const server = createServer();
    const handle = limitUpgrade(server, oneAMinute);
    echo(server);
    await serve(server, async ({ open }) => {
      const status = async (): Promise<string> => {
        const socket = open(frame('hi'));
        socket.setEncoding('latin1');
        const [first] = (await once(socket, 'data')) as [string];
        return first.slice(9, 12);
      };
      expect(await status()).toBe('101');
      expect((handle.peek(client) as Verdict).allowed).toBe(false);
      expect(await status()).toBe('429');
      await handle.reset(client);
      await handle.block(client, '1h');
      expect(await status()).toBe('429');
      await handle.unblock(client);
      expect(await status()).toBe('101');
    });
  });

  test('ends the limit when it is closed, whatever stands around it', () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
      [1, 1, 2, 0, 2],
    ]) {
      const { server, upgrade, written } = fakeUpgrade();
      server.on('upgrade', () => {});
      const handles = [1, 2, 3].map(() =>
        limitUpgrade(server, { limit: 0, window: '1m', key: global() }),
      );
      for (const i of order) handles[i]?.close();
      expect(Object.hasOwn(server, 'emit')).toBe(false);
      expect(server.emit('upgrade', ...upgrade)).toBe(true);
      expect(written()).toBe('');
    }
  });

  test('closes the store that the limiter made', () => {
    const handle = limitUpgrade(createServer(), oneAMinute);
    handle.close();
    expect(() => handle.peek(client)).toThrow(
      expect.objectContaining({ code: 'FLOODGATE_STORE_CLOSED' }),
    );
  });

  test('leaves an `emit` of others where it is', () => {
    const { server, upgrade, written } = fakeUpgrade();
    const below = jest.fn(() => true);
    server.emit = below;
    const handle = limitUpgrade(server, { limit: 0, window: '1m', key: global() });
    const limited = server.emit;
    const above = jest.fn((...all: unknown[]) => Reflect.apply(limited, server, all));
    server.emit = above;
    handle.close();
    server.emit('upgrade', ...upgrade);
    expect([above, below].map(({ mock }) => mock.calls)).toEqual([
      [['upgrade', ...upgrade]],
      [['upgrade', ...upgrade]],
    ]);
    expect(written()).toBe('');
    server.emit = limited;
    handle.close();
    expect(server.emit).toBe(below);
  });
});

describe('a server', () => {
  test('may have several limiters: each is asked, until one denies', async () => {
    const server = createServer();
    const asked: string[] = [];
    const limiter = (name: string, limit: number): UpgradeLimitOptions => ({
      name,
      limit,
      window: '1m',
      cost: async () => asked.push(name) && 1,
    });
    limitUpgrade(server, limiter('inner', 1));
    limitUpgrade(server, limiter('outer', 2));
    echo(server);
    await serve(server, async ({ open }) => {
      await untilEndsWith(open(frame('hi')), echoed('hi'));
      expect(await text(open())).toContain('"policy":"inner"');
      expect(await text(open())).toMatch(/^HTTP\S+ 429/);
    });
    expect(asked.slice(0, 4)).toEqual(['outer', 'inner', 'outer', 'inner']);
  });

  test('answers all that is no upgrade as before', async () => {
    const server = echoServer({ limit: 0, window: '1m' });
    const custom = jest.fn();
    expect(server.emit('custom', 1)).toBe(false);
    server.on('custom', custom);
    expect(server.emit('custom', 1, 2)).toBe(true);
    expect(custom.mock.calls).toEqual([[1, 2]]);
    expect(custom.mock.contexts).toEqual([server]);
    await serve(server, async ({ port }) => {
      const [response] = await once(get({ port, host: '127.0.0.1' }), 'response');
      expect([response.statusCode, await text(response)]).toEqual([200, 'plain']);
    });
  });

  test('without listeners for upgrades takes them for requests, and none is counted', async () => {
    const server = createServer((_, response) => void response.end('plain'));
    const handle = limitUpgrade(server, oneAMinute);
    await serve(server, async ({ open }) => {
      expect(await untilEndsWith(open(), 'plain')).toMatch(/^HTTP\S+ 200/);
    });
    expect((handle.peek(client, { cost: 0 }) as Verdict).tightest.remaining).toBe(1);
  });

  test('behind a proxy is warned of, once', async () => {
    const events: FloodgateEvent[] = [];
    const onEvent = (event: FloodgateEvent): unknown => events.push(event);
    await serve(echoServer({ limit: 0, window: '1m', onEvent }), async ({ open }) => {
      for (const address of ['192.0.2.1', '192.0.2.2']) {
        const forwarded = `\r\nX-Forwarded-For: ${address}\r\n\r\n`;
        await text(open('', HANDSHAKE.replace('\r\n\r\n', forwarded)));
      }
    });
    expect(events).toEqual([
      {
        code: 'warning',
        reason: 'untrusted-proxy',
        message: expect.stringContaining('trusts no proxy'),
      },
    ]);
  });
});

describe('what is no limit of upgrades is refused', () => {
  const handler = (): void => {};
  test.each<[string, unknown, unknown, RegExp]>([
    ['a handler', createServer(), { ...oneAMinute, handler }, /`handler`.*no response/],
    ['an application', new PassThrough(), oneAMinute, /`server`.*`node:https`/],
    ['nothing', undefined, oneAMinute, /`server`/],
    ['no options', createServer(), undefined, /`limit` with `window`/],
    ['an unknown option', createServer(), { ...oneAMinute, windowMs: 1 }, /`windowMs`/],
  ])('%s', (_, server, options, message) => {
    const make = (): unknown => limitUpgrade(server as Server, options as UpgradeLimitOptions);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'FLOODGATE_INVALID_OPTION' }));
  });

  test('a handler, by the types too', () => {
    const server = createServer();
    // @ts-expect-error: there is no response to give to it
    expect(() => limitUpgrade(server, { limit: 1, window: '1m', handler })).toThrow();
  });

  test('and leaves the server as it was', () => {
    const server = createServer();
    expect(() => limitUpgrade(server, { limit: -1, window: '1m' })).toThrow();
    expect(Object.hasOwn(server, 'emit')).toBe(false);
  });
});

const HANDSHAKE =
  'GET /chat HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';

/** A client's frame with a short text, one byte a character; masked with zeros. */
function frame(said: string): string {
  return `\x81${String.fromCharCode(0x80 + said.length)}\0\0\0\0${said}`;
}

/** How a server frames the same text. */
function echoed(said: string): string {
  return `\x81${String.fromCharCode(said.length)}${said}`;
}

/** WebSockets that say what they are told. */
function echo(server: Server): WebSocketServer {
  const webSockets = new WebSocketServer({ server });
  return webSockets.on('connection', (webSocket) => {
    webSocket.on('message', (said) => webSocket.send(String(said)));
  });
}

/** A server that answers requests, and has limited WebSockets. */
function echoServer(options: UpgradeLimitOptions): Server {
  const server = createServer((_, response) => void response.end('plain'));
  echo(server);
  limitUpgrade(server, options);
  return server;
}

/** Options that hold all upgrades but the first, how many they hold, and what lets them go. */
interface Waiting {
  readonly options: UpgradeLimitOptions;
  waiting(): number;
  free(): void;
}

interface Served {
  readonly port: number;
  /** The server's sockets, in the order of their connections. */
  readonly sockets: readonly Socket[];
  connected(options?: { allowHalfOpen?: boolean }): Socket;
  /** Connects and sends a handshake, with whatever comes right behind it. */
  open(early?: string, handshake?: string): Socket;
}

/** Serves for as long as `use` takes. */
async function serve(server: Server, use: (served: Served) => Promise<void>): Promise<void> {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connected: Served['connected'] = (options) =>
    connect({ port, host: '127.0.0.1', ...options });
  const open: Served['open'] = (early = '', handshake = HANDSHAKE) => {
    const socket = connected();
    socket.write(handshake + early, 'latin1');
    return socket;
  };
  try {
    await use({ port, sockets, connected, open });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  }
}

/** All that came, one byte a character, as soon as it ends so. */
async function untilEndsWith(socket: Socket, end: string): Promise<string> {
  socket.setEncoding('latin1');
  let all = '';
  const listen = (said: string): void => {
    all += said;
  };
  socket.on('data', listen);
  await until(() => all.endsWith(end));
  socket.off('data', listen);
  return all;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

/** A server that nobody can reach, an upgrade to be emitted by hand, and what is written to its socket. */
function fakeUpgrade() {
  const socket = new PassThrough();
  const upgrade = [new IncomingMessage(new Socket()), socket, Buffer.from('head')] as const;
  const written: string[] = [];
  const end = socket.end.bind(socket);
  socket.end = ((said: Buffer) => {
    written.push(String(said));
    return end();
  }) as typeof socket.end;
  return { server: createServer(), upgrade, written: () => written.join('') };
}

/** Options with a store that cannot answer. */
function failing(options: Partial<UpgradeLimitOptions>): Partial<UpgradeLimitOptions> {
  const store = new FailingStore(new MemoryStore(), { remote: false });
  store.fail();
  return { ...options, store } as Partial<UpgradeLimitOptions>;
}

/** A store with a mind to write a response of its own. */
function lyingStore(): MemoryStore {
  const store = new MemoryStore();
  const take = store.take.bind(store);
  store.take = (...all) =>
    take(...all).map((decision) => ({
      ...decision,
      allowed: false,
      limit: '1\r\nSet-Cookie: a=b' as unknown as number,
    }));
  return store;
}
