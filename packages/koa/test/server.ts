import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type Koa from 'koa';

/** Serves an app on a port, or on the path of a Unix socket, for as long as `use` takes. */
export async function serve<T>(
  app: Koa,
  use: (at: number | string) => Promise<T>,
  path?: string,
): Promise<T> {
  const server = createServer(app.callback()).listen(path ?? 0);
  await once(server, 'listening');
  try {
    return await use(path ?? (server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
}

/** Sends a request, byte by byte as it is written here, and leaves the connection open. */
export function send(at: number | string, path: string, ...headers: string[]): Socket {
  const socket = typeof at === 'string' ? connect(at) : connect(at, '127.0.0.1');
  const lines = [`GET ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return socket;
}

/** The statuses of requests with these headers, one after the other on one connection. */
export async function statuses(at: number | string, headers: readonly string[]): Promise<number[]> {
  const socket = typeof at === 'string' ? connect(at) : connect(at, '127.0.0.1');
  const requests = headers.map(
    (header) => `GET / HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n`,
  );
  socket.write(
    `${requests.join('')}GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  const answers = (await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g);
  return [...answers].slice(0, headers.length).map(([, status]) => Number(status));
}

/** What a server answers, byte for byte, but for the time of day. */
export async function answer(socket: Socket): Promise<string> {
  return (await text(socket)).replace(/^Date: .*\r\n/m, '');
}
