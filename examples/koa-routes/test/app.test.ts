import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { ManualClock } from '@floodgate/core/testing';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createApp } from '../src/app.ts';

// Everything that takes long, by a clock that a test moves.
let clock: ManualClock;
let server: Server;

beforeEach(async () => {
  clock = new ManualClock();
  // The test is a proxy of ours, so that it can be many clients.
  const app = Object.assign(createApp({ clock }), { proxy: true, maxIpsCount: 1 });
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function ask(path: string, { client = '203.0.113.1', method = 'GET' } = {}): Promise<number> {
  const { port } = server.address() as AddressInfo;
  const headers = { 'X-Forwarded-For': client };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers });
  await response.arrayBuffer();
  return response.status;
}

test('a sign-in is possible again when the first of ten is a minute old', async () => {
  const signIn = (): Promise<number> => ask('/sign-in', { method: 'POST' });
  expect(await signIn()).toBe(401);
  clock.advance(30_000);
  for (let i = 0; i < 9; i += 1) expect(await signIn()).toBe(401);
  clock.advance(29_999);
  expect(await signIn()).toBe(429);
  clock.advance(1);
  expect([await signIn(), await signIn()]).toEqual([401, 429]);
});

test('each client has a thousand other requests a minute, and the others keep theirs', async () => {
  for (let i = 0; i < 100; i += 1) {
    const batch = Array.from({ length: 10 }, (_, n) => ask(n % 2 === 0 ? '/' : '/missing'));
    expect(await Promise.all(batch)).toEqual(Array(5).fill([200, 404]).flat());
  }
  expect([await ask('/'), await ask('/missing'), await ask('/SIGN-IN')]).toEqual([429, 429, 429]);
  expect([await ask('/search'), await ask('/rate_limit')]).toEqual([200, 200]);
  expect(await ask('/', { client: '203.0.113.2' })).toBe(200);
  // A window without requests later, all of it is there again.
  clock.advance(120_000);
  expect(await ask('/')).toBe(200);
});

test('an upload costs by the length that it announces, and is refused without one', async () => {
  const { port } = server.address() as AddressInfo;
  const upload = async (header: string, body = ''): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    const head = ['POST /uploads HTTP/1.1', 'Host: localhost', 'X-Forwarded-For: 203.0.113.1'];
    socket.write([...head, 'Connection: close', header, '', body].join('\r\n'));
    const answer = await text(socket);
    const [, status] = /^HTTP\/1\.1 (\d+)/.exec(answer) ?? [];
    const [, left] = /^X-RateLimit-Remaining: (\d+)/m.exec(answer) ?? [];
    return `${status}, ${left} left`;
  };
  expect(await upload('Content-Length: 1', 'x')).toBe('201, 19 left');
  expect(await upload('Transfer-Encoding: chunked', '0\r\n\r\n')).toBe('411, 18 left');
  expect(await upload('Content-Length: 4294967297')).toBe('429, 18 left');
});
