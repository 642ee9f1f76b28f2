import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { RedisProgram } from './redis-program.ts';

/** A process of the server. */
export interface RedisProcess {
  readonly pid: number;
  /** Is aborted once the process is gone, whatever ended it. */
  readonly gone: AbortSignal;
  /** Does nothing once the process is gone: by then its number may be another's. */
  signal(name: NodeJS.Signals): void;
  /** Kills it, and waits until it is gone. */
  kill(): Promise<void>;
}

/**
 * Starts the server, prints its number, and waits for it. Whatever ends us closes our end of standard input, by which
 * `read` ends, and then the server does, with its folder; that is done to its end, whatever the last line sends.
 */
const SCRIPT = `
folder=$1
shift
exec 3<&0
"$@" 3<&- </dev/null >"$folder/log" 2>&1 &
server=$!
{ read -r _; trap '' TERM; kill -KILL $server; rm -rf "$folder"; } <&3 3<&- >/dev/null &
watch=$!
echo $server
wait $server
kill $watch
`;

/**
 * Starts a process of the server, which ends when this process does, at the latest.
 *
 * @param folder where `log` will hold its output; it is removed if this process ends first
 */
export async function spawnRedis(
  { path, env }: RedisProgram,
  args: readonly string[],
  folder: string,
): Promise<RedisProcess> {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', folder, path, ...args], {
    // Ctrl-C is for us. If it ended the shell, nobody would end a server that is paused.
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const gone = new AbortController();
  const exited = once(child, 'exit').finally(() => gone.abort());
  const [line] = await Promise.race([once(child.stdout, 'data'), exited.then(() => ['0'])]);
  const pid = Number(line);
  if (!(pid > 0)) throw new Error(`Expected a process to start, got:\n${line}`);
  // A test that forgets its server still ends, and the server with it.
  child.stdout.destroy();
  child.unref();

  function signal(name: NodeJS.Signals): void {
    if (gone.signal.aborted) return;
    try {
      process.kill(pid, name);
    } catch (error) {
      // It has just ended by itself, and we are about to be told.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  async function kill(): Promise<void> {
    child.ref();
    signal('SIGKILL');
    await exited;
  }
  return { pid, gone: gone.signal, signal, kill };
}
