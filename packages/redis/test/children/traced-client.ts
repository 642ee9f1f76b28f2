import type { Cluster, Redis } from 'ioredis';
import type { IoredisClient, IoredisCluster } from '../../src/index.ts';

/** A client that numbers the scripts it runs, in the order in which the server runs them: inside of each of them. */
export class TracedClient implements IoredisClient {
  readonly status = 'ready';
  /** The number of the last script, and its time: of a reset, which has none, 0. */
  sequence = 0;
  timeMs = 0;
  readonly #client: Redis | Cluster;
  /** In Lua, where the number is: on a cluster in the slot of the script's keys. */
  readonly #counter: string;

  constructor(client: Redis | Cluster, counter = "'sequence'") {
    this.#client = client;
    this.#counter = counter;
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
      return { redis.call('INCR', ${this.#counter}), reply }
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

/** The same of a cluster, each slot with numbers of its own. */
export class TracedCluster extends TracedClient implements IoredisCluster {
  readonly isCluster = true;
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    super(cluster, "'sequence:' .. string.match(KEYS[1], '{.*}')");
    this.#cluster = cluster;
  }

  get slots(): IoredisCluster['slots'] {
    return this.#cluster.slots;
  }

  /** So that all goes by the cluster's client. */
  nodes(): readonly [] {
    return [];
  }
}
