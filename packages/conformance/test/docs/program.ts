import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../workspace.ts';

/** What a program left behind. */
export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  /** Null where a signal ended it. */
  readonly code: number | null;
}

/** A program that runs, and how it will have ended. */
export interface Program {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** What Node.js has to be told to run a program in TypeScript with the packages' sources, wherever that lies. */
export const sourceFlags: readonly string[] = [
  '--conditions=@floodgate/source',
  ...['--import', urlOf(join(root, 'scripts/lua.mjs'))],
  ...['--import', urlOf(require.resolve('tsx'))],
];

/** Starts a program in TypeScript or JavaScript, with the packages' sources and not what is built of them. */
export function startProgram(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Program {
  const child = spawn(process.execPath, [...sourceFlags, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // One that never ends must not outlive the test that it fails.
    timeout: 170_000,
  });
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      printed[stream] += text;
    });
  }
  const ended = once(child, 'close').then(([code]) => ({ ...printed, code }));
  return { process: child, ended };
}

/** A file, as `--import` takes it on every system. */
export function urlOf(path: string): string {
  return pathToFileURL(path).href;
}
