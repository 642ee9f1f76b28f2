import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

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

/** Starts a program in TypeScript or JavaScript, with the packages' sources and not what is built of them. */
export function startProgram(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Program {
  const flags = ['--conditions=@floodgate/source', '--import', urlOf(require.resolve('tsx'))];
  const child = spawn(process.execPath, [...flags, ...args], {
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
