import { createApp } from './app.ts';
import { thingsToTry } from './things-to-try.ts';

const port = Number(process.env.PORT ?? 3000);
const app = await createApp({ logger: { level: 'warn' } });

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
