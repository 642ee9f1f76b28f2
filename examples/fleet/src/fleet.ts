import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Balancer, Method, StartBalancer } from './balancer.ts';

export const NAMES = ['1', '2', '3'] as const;

export interface FleetOptions {
  readonly startBalancer: StartBalancer;
  readonly method: Method;
  /** Where counts live. @default each process has a memory store */
  readonly redisUrl?: string;
  /** Gives up waiting for it to start. */
  readonly signal: AbortSignal;
}

/** Three processes of the app behind a load balancer. */
export interface Fleet {
  /** The balancer's. */
  readonly url: string;
  /** Kills a process, without a warning, and waits until it is gone. */
  lose(name: string): Promise<void>;
}

/** Starts a fleet, and stops it when it has been used, or could not be. */
export async function withFleet<T>(
  { startBalancer, method, redisUrl = '', signal }: FleetOptions,
  use: (fleet: Fleet) => Promise<T>,
): Promise<T> {
  const processes = new Map(NAMES.map((name) => [name as string, startProcess(name, redisUrl)]));
  let balancer: Balancer | undefined;
  try {
    const listening = [...processes.values()].map((child) => portOf(child, signal));
    balancer = await startBalancer(method, await Promise.all(listening));
    const lose = async (name: string) => {
      const child = processes.get(name);
      if (child !== undefined) await end(child, 'SIGKILL');
    };
    return await use({ url: balancer.url, lose });
  } finally {
    await balancer?.close();
    await Promise.all([...processes.values()].map((child) => end(child, 'SIGTERM')));
  }
}

function startProcess(name: string, redisUrl: string): ChildProcess {
  return fork(fileURLToPath(new URL('server.ts', import.meta.url)), {
    // From where `tsx` is found.
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    execArgv: [
      '--conditions=@floodgate/source',
      ...['--import', '../../scripts/lua.mjs'],
      ...['--import', 'tsx'],
    ],
    env: { ...process.env, PORT: '0', PROCESS_NAME: name, REDIS_URL: redisUrl },
  });
}

/** Waits until a process listens. */
async function portOf(child: ChildProcess, signal: AbortSignal): Promise<number> {
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`Expected a process to listen, and it ended with ${code}`);
  });
  const [port] = await Promise.race([once(child, 'message', { signal }), ended]);
  return port;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
