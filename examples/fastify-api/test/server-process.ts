import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

/** The example as it is started from a terminal. */
export interface ServerProcess {
  /** Where it says that it listens; empty where it ended before. */
  readonly url: string;
  /** All that it has printed so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  /** Its exit code. */
  readonly exited: Promise<number | null>;
}

export async function startServer(port = '0'): Promise<ServerProcess> {
  const program = ['--conditions=@floodgate/source', '--import', 'tsx', 'src/main.ts'];
  const child = spawn(process.execPath, program, {
    cwd: resolve(__dirname, '..'),
    env: { ...process.env, PORT: port },
  });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  let output = '';
  const url = await new Promise<string>((done) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const [, url] = /^Listening on (\S+)$/m.exec(output) ?? [];
        if (url !== undefined) done(url);
      });
    }
    exited.then(() => done(''), done);
  });
  return { url, output: () => output, kill: (signal) => child.kill(signal), exited };
}
