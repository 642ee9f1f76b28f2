import { findBalancer } from './balancer.ts';
import { memoryInTurn, memorySticky, sharedInRedis } from './modes.ts';

// A terminal's Ctrl-C reaches the fleet's processes as well, and us perhaps twice, once by way of npm.
const interruption = new AbortController();
const { signal } = interruption;
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => interruption.abort());

const print = (text: string): void => void process.stdout.write(text);

const parts = [memoryInTurn, memorySticky, sharedInRedis];
/** Which part is asked for; without, all are. */
const [number] = process.argv.slice(2);
const isAskedFor = (_: unknown, index: number): boolean =>
  number === undefined || index === Number(number) - 1;

try {
  const { name, start: startBalancer } = await findBalancer(process.env.BALANCER);
  print(`Three processes behind ${name}. Each client may send 30 requests a minute.\n`);
  for (const demonstrate of parts.filter(isAskedFor)) {
    print('\n');
    await demonstrate({ startBalancer, print, signal });
    signal.throwIfAborted();
  }
} catch (error) {
  // What was under way may have failed by it in any way.
  if (!signal.aborted) process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = signal.aborted ? 130 : 1;
}
