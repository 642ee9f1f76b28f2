import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openStore } from '@floodgate/example-open-store';
import { createApp } from './app.ts';

const SHORTEST_TOKEN = 32;
const { OPERATOR_TOKEN: operatorToken = '', PORT = '3000', REDIS_URL } = process.env;

if (operatorToken.length < SHORTEST_TOKEN) {
  process.stderr.write(
    `Expected OPERATOR_TOKEN to be a secret of ${SHORTEST_TOKEN} characters or more\n`,
  );
  process.exit(1);
}

const log = (line: string): void => void process.stdout.write(`${line}\n`);
const { store, close } = await openStore(REDIS_URL);
const server = createServer(createApp({ operatorToken, store, log }));
server.listen(Number(PORT), () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`Listening on http://localhost:${port}\n`);
});

// Takes no more connections, and ends with the last answer.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.close(close));
