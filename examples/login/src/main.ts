import type { AddressInfo } from 'node:net';
import { openStore } from '@floodgate/example-open-store';
import { DEMO_USER } from './accounts.ts';
import { createApp } from './app.ts';

const { store, close } = await openStore(process.env.REDIS_URL);
const server = createApp({ store }).listen(Number(process.env.PORT ?? 3000), (error) => {
  if (error !== undefined) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    close();
    return;
  }
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  process.stdout.write(`Listening on ${url}

Try, in another terminal:

  # sign in: as often as you like
  ${signIn(url, DEMO_USER.password)}

  # guess: five times, then not even the right password will do for 15 minutes
  ${signIn(url, 'guess')}
`);
});

// Takes no more connections, and ends with the last answer.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.close(close));

function signIn(url: string, password: string): string {
  const body = JSON.stringify({ email: DEMO_USER.email, password });
  return `curl -i -H 'Content-Type: application/json' -d '${body}' ${url}/sign-in`;
}
