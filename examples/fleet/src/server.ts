import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openStore } from '@floodgate/example-open-store';
import { createApp } from './app.ts';

// One process of the fleet.

const { PORT = '0', PROCESS_NAME: name = '1', REDIS_URL } = process.env;
const { store, close } = await openStore(REDIS_URL);
const server = createServer(createApp({ name, store }));
server.listen(Number(PORT), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.(port);
  if (!process.connected) process.stdout.write(`Listening on http://127.0.0.1:${port}\n`);
});

// Takes no more connections, and ends with the last answer; also where whoever started us has ended.
let isEnding = false;
for (const event of ['SIGINT', 'SIGTERM', 'disconnect']) process.on(event, shutDown);

function shutDown(): void {
  if (isEnding) return;
  isEnding = true;
  server.close(() => {
    close();
    if (process.connected) process.disconnect();
  });
}
