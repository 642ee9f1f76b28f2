import type { Redis } from 'ioredis';
import type { IoredisClient } from '../../src/index.ts';

const SEQUENCE = 'sequence';

/** A client that numbers the scripts it runs, in the order in which the server runs them: inside of each of them. */
export class TracedClient implements IoredisClient {
  readonly status = 'ready';
  /** The number of the last script, and its time: of a reset, which has none, 0. */
  sequence = 0;
  timeMs = 0;
  readonly #client: Redis;

  constructor(client: Redis) {
    this.#client = client;
  }

  /** So that the source is sent, each time. */
  evalsha(): Promise<unknown> {
    return Promise.reject(new Error('NOSCRIPT'));
  }

  async eval(source: string, keyCount: number, ...rest: string[]): Promise<unknown> {
    const script = `
      local function script()
      ${source}
      end
      local reply = script()
      return { redis.call('INCR', '${SEQUENCE}'), reply }
    `;
    const [sequence, reply] = (await this.#client.eval(script, keyCount, ...rest)) as [
      number,
      unknown,
    ];
    this.sequence = sequence;
    this.timeMs = typeof reply === 'number' ? 0 : Number(Array.isArray(reply) ? reply[0] : reply);
    return reply;
  }
}
