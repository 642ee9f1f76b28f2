import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';

const server = createApp().listen(Number(process.env.PORT ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`Listening on http://localhost:${port}\n`);
});

// Takes no more connections, and ends with the last answer.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.close());
