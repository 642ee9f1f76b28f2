import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port that was free a moment ago, that is, and so was the one that is `busOffset` above it.
 *
 * @param busOffset @default 0, which asks for no second port
 */
export async function freePort(host: string, busOffset = 0): Promise<number> {
  for (;;) {
    // Below the ports that systems give to outgoing connections: while a server is down, a client that tries again and
    // again to connect would now and then be given that very port, and be connected with itself.
    const port = randomInt(10_000, 30_000 - busOffset);
    if ((await isFree(host, port)) && (await isFree(host, port + busOffset))) return port;
  }
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, host), 'listening');
  } catch {
    return false;
  }
  await once(server.close(), 'close');
  return true;
}
