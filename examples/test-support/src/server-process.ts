import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

/** Which server to start. */
export interface ServerOptions {
  /** The example's folder. */
  readonly cwd: string;
  /** Set besides what the test itself has. `PORT` is '0', any port that is free, unless it is set here. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program, from the example's folder. @default 'src/main.ts' */
  readonly program?: string;
  /** What stands behind the program on its command line. @default none */
  readonly args?: readonly string[];
}

/** An example's server, as it is started from a terminal. */
export interface ServerProcess {
  /** Where it says that it listens; empty where it ended before. */
  readonly url: string;

  /**
   * All that was read so far of what it prints, to stdout and stderr. A response may come before the line that was
   * printed for it: wait for that with `printed`. It is complete once `exited` is.
   */
  output(): string;

  /**
   * Waits until the output so far matches, which it may do at once. Rejects if the server ends without that. Where the
   * end of a line matters, end the pattern with `\n`: `$` matches half a line, too, if no more of it was read yet.
   */
  printed(pattern: RegExp): Promise<RegExpExecArray>;

  kill(signal: NodeJS.Signals): void;

  /** Its exit code; null where a signal ended it. */
  readonly exited: Promise<number | null>;
}

/**
 * Starts an example's server, and waits until it prints `Listening on URL` or ends.
 *
 * @example
 * const server = await startServer({ cwd: resolve(__dirname, '..') });
 * await fetch(server.url);
 * await server.printed(/GET \/ .* allowed/);
 * server.kill('SIGTERM');
 * await server.exited;
 */
export async function startServer({
  cwd,
  env,
  program = 'src/main.ts',
  args = [],
}: ServerOptions): Promise<ServerProcess> {
  // As the examples' start scripts have them.
  const imports = ['--import', '../../scripts/lua.mjs', '--import', 'tsx'];
  const child = spawn(
    process.execPath,
    ['--conditions=@floodgate/source', ...imports, program, ...args],
    {
      cwd,
      env: { ...process.env, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const progress = new EventEmitter();
  let output = '';
  let hasEnded = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      progress.emit('news');
    });
  }
  // Not `exit`, after which there may be output left to read.
  const exited = once(child, 'close').then(([code]) => {
    hasEnded = true;
    progress.emit('news');
    return code as number | null;
  });

  async function printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(output);
      if (match !== null) return match;
      if (hasEnded) throw new Error(`Expected ${pattern} to be printed, got:\n${output}`);
      await once(progress, 'news');
    }
  }

  const listening = printed(/^Listening on (\S+)\n/m).then(([, address = '']) => address);
  // That it ended without listening is for the test to judge; that it could not even be started is an error.
  const url = await Promise.race([listening.catch(() => ''), exited.then(() => '')]);
  return { url, output: () => output, printed, kill: (signal) => child.kill(signal), exited };
}
