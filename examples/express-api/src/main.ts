import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openStore } from '@floodgate/example-open-store';
import { createApp } from './app.ts';
import { thingsToTry } from './things-to-try.ts';

const LONGEST_SHUTDOWN_MS = 10_000;
const port = readPort(process.env.PORT);
const { store, close } = await openStore(process.env.REDIS_URL);
const server = createServer(createApp({ store, log: (line) => process.stdout.write(`${line}\n`) }));

server.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error;
  const why = error.code === 'EADDRINUSE' ? 'is in use' : 'needs more rights';
  exitWith(`Port ${port} ${why}: choose another one, or any that is free by PORT=0 npm start`);
});

server.listen(port, () => {
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  process.stdout.write(`Listening on ${url}\n\n${thingsToTry(url)}\n`);
});

// A terminal's Ctrl-C may reach us twice, once by way of npm: the second one changes nothing.
process.on('SIGINT', shutDown);
process.on('SIGTERM', shutDown);

/** Takes no more connections, and ends with the last answer: an e-mail may have to wait for its turn. */
function shutDown(): void {
  // Connections that are kept alive go as soon as they are idle.
  server.keepAliveTimeout = 1;
  server.close(close);
  setTimeout(() => server.closeAllConnections(), LONGEST_SHUTDOWN_MS).unref();
}

function readPort(text = '3000'): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535
    ? port
    : exitWith(`Expected PORT to be a number from 0 to 65535, got ${text}`);
}

function exitWith(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
