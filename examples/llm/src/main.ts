import { openStore } from '@floodgate/example-open-store';
import { createApp } from './app.ts';

const port = Number(process.env.PORT ?? 3000);
const { store, close } = await openStore(process.env.REDIS_URL);
const app = await createApp({ store, logger: { level: 'warn' } });
app.addHook('onClose', async () => close());

// Takes no more connections, and ends with the last answer. A terminal's Ctrl-C may come twice, once by way of npm.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void app.close());

try {
  const url = await app.listen({ port });
  process.stdout.write(`Listening on ${url}\n\n${thingsToTry(url)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
  await app.close();
}

function thingsToTry(url: string): string {
  const curl = `curl -iN -H 'X-API-Key: ada' -H 'Content-Type: application/json'`;
  return `Try, in another terminal (README.md has more):

  ${curl} -d '{"prompt":"Count to 3","max_tokens":100}' ${url}/answers/stream
  curl -H 'X-API-Key: ada' ${url}/rate_limit

Each denial is one line here:
`;
}
