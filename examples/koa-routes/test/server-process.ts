import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

/** The example as it is started from a terminal. */
export interface ServerProcess {
  /** Where it says that it listens. */
  readonly url: string;
  kill(signal: NodeJS.Signals): void;
  /** Its exit code. */
  readonly exited: Promise<number | null>;
}

/** Starts the example on a free port, and waits until it listens. */
export async function startServer(): Promise<ServerProcess> {
  const program = ['--conditions=@floodgate/source', '--import', 'tsx', 'src/main.ts'];
  const child = spawn(process.execPath, program, {
    cwd: resolve(__dirname, '..'),
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const url = await new Promise<string>((done, fail) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [, url] = /^Listening on (\S+)$/m.exec(output) ?? [];
      if (url !== undefined) done(url);
    });
    exited.then((code) => fail(new Error(`It ended with ${code}, and said ${output}`)), fail);
  });
  return { url, kill: (signal) => child.kill(signal), exited };
}
