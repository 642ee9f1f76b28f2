import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';

/** The statuses of requests, one after the other: `/path`, or `METHOD /path`. */
export async function statuses(
  app: FastifyInstance,
  ...requests: readonly string[]
): Promise<number[]> {
  const answers = [];
  for (const request of requests) {
    const [url, method = 'GET'] = request.split(' ').reverse();
    answers.push((await app.inject({ url, method } as never)).statusCode);
  }
  return answers;
}

/** `X-RateLimit-Limit`, `-Remaining` and `-Reset`, `Retry-After` and `Cache-Control`. */
export function rateHeaders({ headers }: { readonly headers: object }): unknown[] {
  const all = headers as Record<string, unknown>;
  return [
    all['x-ratelimit-limit'],
    all['x-ratelimit-remaining'],
    all['x-ratelimit-reset'],
    all['retry-after'],
    all['cache-control'],
  ];
}

/** Listens for as long as `use` takes: on a port, or on the path of a Unix socket. */
export async function serve<T>(
  app: FastifyInstance,
  use: (at: number | string) => Promise<T>,
  path?: string,
): Promise<T> {
  await app.listen(path === undefined ? { port: 0, host: '127.0.0.1' } : { path });
  try {
    return await use(path ?? (app.server.address() as AddressInfo).port);
  } finally {
    app.server.closeAllConnections();
    await app.close();
  }
}

/** Sends a request, byte by byte as it is written here, and leaves the connection open. */
export function send(at: number | string, path: string, ...headers: string[]): Socket {
  const socket = typeof at === 'string' ? connect(at) : connect(at, '127.0.0.1');
  const lines = [`GET ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return socket;
}

/** What a server answers, byte for byte, but for the time of day. */
export async function answer(socket: Socket): Promise<string> {
  return (await text(socket)).replace(/^date: .*\r\n/im, '');
}
