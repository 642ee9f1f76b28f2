import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { sourceFlags } from '../docs/program.ts';
import type { Command, Reply } from './commands.ts';
import type { Framework } from './frameworks.ts';
import { type Exchange, isExchange, type Scenario } from './scenario.ts';
import { type Answer, send } from './send.ts';

/** What a scenario came to on a framework: the answer to each exchange, and what `onEvent` was told. */
export interface Played {
  readonly answers: readonly Answer[];
  readonly events: readonly string[];
}

/** The process that hosts the apps, as the test sees it. */
export class RemoteHost {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;
  readonly #redisUrl: string | undefined;
  #printed = '';

  /**
   * @param binary the program of some version of Node.js
   * @param redisUrl of the server where apps have their counts. @default none: they have them in memory
   */
  constructor(binary: string, redisUrl?: string) {
    this.#redisUrl = redisUrl;
    this.#child = fork(require.resolve('./host.ts'), {
      execPath: binary,
      // Node.js 20 does not read TypeScript.
      execArgv: [...sourceFlags],
      // Express prints the errors of routes anywhere else.
      env: { ...process.env, NODE_ENV: 'test' },
      silent: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed += text;
      });
    }
    this.#ended = once(this.#child, 'close').then(() => {
      throw new Error(`The process with the apps has ended:\n${this.#printed}`);
    });
    // It is told to whoever asks something.
    this.#ended.catch(() => {});
  }

  /** Plays a scenario on an app of its own. */
  async play(framework: Framework, { name, steps }: Scenario): Promise<Played> {
    const { port = 0 } = await this.#ask({
      do: 'open',
      framework,
      scenario: name,
      redisUrl: this.#redisUrl,
    });
    const answers: Answer[] = [];
    let events: readonly string[] = [];
    try {
      for (const step of steps) {
        if (isExchange(step)) answers.push(await this.#exchange(step, port));
        else await this.#ask({ do: 'happen', event: step });
      }
    } finally {
      ({ events = [] } = await this.#ask({ do: 'close' }));
    }
    return { answers, events };
  }

  async stop(): Promise<void> {
    this.#child.kill();
    await this.#ended.catch(() => {});
  }

  async #exchange([sent, , { heldMs = 0 } = {}]: Exchange, port: number): Promise<Answer> {
    const [answer] = await Promise.all([send(port, sent), this.#release(heldMs)]);
    await this.#ask({ do: 'wait-until-settled' });
    return answer;
  }

  /** Moves the clock as far as it takes to let a request go on that is held back, and no less. */
  async #release(heldMs: number): Promise<void> {
    if (heldMs === 0) return;
    await this.#ask({ do: 'wait-for-sleeper' });
    await this.#ask({ do: 'happen', event: { advanceMs: heldMs - 1 } });
    await this.#ask({ do: 'wait-for-sleeper' });
    await this.#ask({ do: 'happen', event: { advanceMs: 1 } });
  }

  async #ask(command: Command): Promise<Reply> {
    const replied = once(this.#child, 'message');
    this.#child.send(command);
    const [reply] = (await Promise.race([replied, this.#ended])) as [Reply];
    if (reply.error !== undefined) throw new Error(reply.error);
    return reply;
  }
}
