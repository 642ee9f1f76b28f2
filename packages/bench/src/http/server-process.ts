import type { ChildProcess } from 'node:child_process';
import { startChild } from '../run-in-child.ts';
import type { ServeInput, ServerState } from './serve.ts';

/** A server in a process of its own. */
export class ServerProcess {
  readonly input: ServeInput;
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(input: ServeInput, child: ChildProcess, { port }: ServerState) {
    this.input = input;
    this.#child = child;
    this.url = `http://127.0.0.1:${port}/`;
  }

  static async start(input: ServeInput): Promise<ServerProcess> {
    const child = startChild('serve', input);
    return new ServerProcess(input, child, await nextState(child));
  }

  /** Processor time that it has used so far, in microseconds. */
  async cpuUs(): Promise<number> {
    const state = nextState(this.#child);
    this.#child.send('state');
    return (await state).cpuUs;
  }

  stop(): void {
    this.#child.disconnect();
  }
}

function nextState(child: ChildProcess): Promise<ServerState> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => {
      reject(new Error(`The server's process ended (${code})`));
    };
    child.once('exit', onExit);
    child.once('message', (state) => {
      child.off('exit', onExit);
      resolve(state as ServerState);
    });
  });
}
