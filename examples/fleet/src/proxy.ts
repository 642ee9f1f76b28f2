import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProxyServer } from 'httpxy';
import type { Method, StartBalancer } from './balancer.ts';

/** What nginx does, as far as it matters here, in this process. */
export const startProxy: StartBalancer = async (method, ports) => {
  const proxy = createProxyServer();
  const choose = chooser(method, ports);
  let there = ports;

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const client = String(request.socket.remoteAddress);
    // Its own option `xfwd` would leave what a client wrote, and add nothing to it.
    const forwarded = [request.headers['x-forwarded-for'] ?? [], client].flat().join(', ');
    while (there.length > 0) {
      const port = choose(client, there);
      try {
        return await proxy.web(request, response, {
          target: `http://127.0.0.1:${port}`,
          headers: { 'x-forwarded-for': forwarded },
        });
      } catch (error) {
        // Else it may have counted the request, which must not be counted twice.
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') break;
        // For good: here, none comes back.
        there = there.filter((other) => other !== port);
      }
    }
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  }

  const server = createServer((request, response) => void pass(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
};

/** The process that a client's request goes to, of those that are there. */
type Choose = (client: string, there: readonly number[]) => number;

function chooser(method: Method, ports: readonly number[]): Choose {
  let turn = -1;
  if (method === 'round robin') {
    return (_client, there) => {
      turn = (turn + 1) % there.length;
      return there[turn] as number;
    };
  }
  // Each process draws a number for each client, and the largest wins (rendezvous hashing). So the loss of a process
  // moves its own clients, to all of the others, and nobody else's.
  return (client, there) => {
    const draw = (port: number) => digest(`${client} ${ports.indexOf(port)}`);
    return there.reduce((best, port) => (draw(port) > draw(best) ? port : best));
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
