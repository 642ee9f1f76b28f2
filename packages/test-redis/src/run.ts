import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Far more than it should take: a mirror that does not answer must not hold the tests up for ever. */
const TIMEOUT_MS = 5 * 60_000;

/** Runs a program that asks no questions, to its end. Rejects where it does not succeed. @returns what it printed */
export async function run(
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<string> {
  const child = promisify(execFile)(path, args, {
    cwd,
    env: { ...process.env, ...env },
    timeout: TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  child.child.stdin?.end();
  return (await child).stdout;
}
