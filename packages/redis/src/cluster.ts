import calculateSlot from 'cluster-key-slot';
import {
  bySha,
  type Connection,
  IOREDIS_STATES,
  type IoredisClient,
  type IoredisCluster,
  ioredisSends,
  type NodeRedisClient,
  type NodeRedisCluster,
  type NodeRedisMaster,
  nodeRedisSends,
  type Sends,
} from './client.ts';
import { GuardedCalls } from './guarded-calls.ts';
import type { Servers } from './servers.ts';

/** The slots of a cluster, and its nodes: each has a breaker of its own. */
abstract class ClusterServers implements Servers {
  readonly #timeoutMs: number;
  readonly #nodes: Map<string, GuardedCalls> = new Map();

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  slotOf(key: string): number {
    return calculateSlot(`${this.keyPrefix}${key}`);
  }

  of(slot: number): GuardedCalls {
    const address = this.addressOf(slot);
    let node = this.#nodes.get(address);
    if (node === undefined) {
      // Addresses come and go. Those that are gone are not worth finding out about one by one.
      if (this.#nodes.size >= MOST_NODES) this.#nodes.clear();
      node = new GuardedCalls(this.connectionTo(address), this.#timeoutMs);
      this.#nodes.set(address, node);
    }
    return node;
  }

  /** What the client puts before each key. */
  protected abstract readonly keyPrefix: string;
  /** The master's, as far as the client knows; empty where it knows none. */
  protected abstract addressOf(slot: number): string;
  protected abstract connectionTo(address: string): Connection;
}

const MOST_NODES = 1_000;

/** Of `ioredis` and `iovalkey`. */
export class IoredisServers extends ClusterServers {
  protected readonly keyPrefix: string;
  readonly #cluster: IoredisCluster;

  constructor(cluster: IoredisCluster, timeoutMs: number) {
    super(timeoutMs);
    this.#cluster = cluster;
    this.keyPrefix = (cluster as Partial<IoredisNode>).options?.keyPrefix ?? '';
  }

  protected addressOf(slot: number): string {
    return this.#cluster.slots[slot]?.[0] ?? '';
  }

  protected connectionTo(address: string): Connection {
    const cluster = this.#cluster;
    const byCluster = ioredisSends(cluster);
    const straight = new Pipelines(() => this.#nodeAt(address));
    /**
     * Straight to the node: the cluster's client would wait for a slot that is being moved for longer than a request can,
     * and writes each call by itself. It is asked where the node is not the right one, or not to be reached: then it finds
     * out who is.
     */
    const send =
      (command: keyof Sends): Sends[typeof command] =>
      async (text, keys, args) => {
        const sent = straight.send(command === 'sha' ? 'evalsha' : 'eval', [
          text,
          keys.length,
          ...keys,
          ...args,
        ]);
        if (sent === undefined) return byCluster[command](text, keys, args);
        return sent.catch((error) => {
          if (!isElsewhere(error, keys)) throw error;
          return byCluster[command](text, keys, args);
        });
      };
    return {
      state: () => IOREDIS_STATES[cluster.status] ?? 'away',
      run: bySha({ sha: send('sha'), source: send('source') }),
    };
  }

  #nodeAt(address: string): IoredisNode | undefined {
    const nodes = this.#cluster.nodes('master') as readonly IoredisNode[];
    const node = nodes.find(({ options }) => `${options.host}:${options.port}` === address);
    // What the cluster's client puts before keys, its nodes' clients may not.
    const isUsable = node?.status === 'ready' && (node.options.keyPrefix ?? '') === this.keyPrefix;
    return isUsable ? node : undefined;
  }
}

/** A client of one node. */
interface IoredisNode extends IoredisClient {
  readonly options: { readonly host?: string; readonly port?: number; readonly keyPrefix?: string };
  pipeline(commands: unknown[][]): {
    exec(): Promise<[error: Error | null, reply: unknown][] | null>;
  };
}

/** Commands that are sent to a node in one turn are written all at once. */
class Pipelines {
  readonly #nodeOf: () => IoredisNode | undefined;
  #waiting: Waiting[] = [];

  constructor(nodeOf: () => IoredisNode | undefined) {
    this.#nodeOf = nodeOf;
  }

  /** Nothing is sent where there is no node. */
  send(name: 'evalsha' | 'eval', args: (string | number)[]): Promise<unknown> | undefined {
    const node = this.#nodeOf();
    if (node === undefined) return undefined;
    return new Promise((resolve, reject) => {
      const isFirst = this.#waiting.length === 0;
      this.#waiting.push({ command: [name, ...args], resolve, reject });
      if (isFirst) queueMicrotask(() => this.#flush(node));
    });
  }

  #flush(node: IoredisNode): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const commands = waiting.map(({ command }) => command);
    Promise.resolve()
      .then(() => node.pipeline(commands).exec())
      .then((results) => {
        for (const [i, { resolve, reject }] of waiting.entries()) {
          const [error, reply] = results?.[i] ?? [new Error('Connection is closed.'), undefined];
          if (error) reject(error);
          else resolve(reply);
        }
      })
      .catch((error) => {
        for (const { reject } of waiting) reject(error);
      });
  }
}

interface Waiting {
  readonly command: unknown[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * What a node answers that has not run the script, since another one has the slot. Of a slot that is being moved, only a
 * single key is followed: several may not be there yet, and the cluster's client would ask again and again.
 */
function isElsewhere(error: unknown, keys: readonly string[]): boolean {
  if (!(error instanceof Error)) return false;
  const isMoving = error.message.startsWith('ASK ') && keys.length === 1;
  return isMoving || /^(MOVED|CLUSTERDOWN) /.test(error.message);
}

/** Of node-redis, which sends what comes in one turn at once, and lets through what says that a slot is being moved. */
export class NodeRedisServers extends ClusterServers {
  /** It does not tell. One without braces changes no slot. */
  protected readonly keyPrefix = '';
  readonly #cluster: NodeRedisCluster;
  readonly #masters: Map<string, NodeRedisMaster> = new Map();

  constructor(cluster: NodeRedisCluster, timeoutMs: number) {
    super(timeoutMs);
    this.#cluster = cluster;
  }

  protected addressOf(slot: number): string {
    const master = this.#cluster.slots[slot]?.master;
    if (master === undefined) return '';
    if (this.#masters.get(master.address) !== master) {
      if (this.#masters.size >= MOST_NODES) this.#masters.clear();
      this.#masters.set(master.address, master);
    }
    return master.address;
  }

  protected connectionTo(address: string): Connection {
    return {
      state: () => (this.#isAway(address) ? 'away' : 'ready'),
      run: bySha(nodeRedisSends(this.#cluster)),
    };
  }

  #isAway(address: string): boolean {
    if (!this.#cluster.isOpen || address === '') return true;
    const client = this.#masters.get(address)?.client as Partial<NodeRedisClient> | undefined;
    // One that it has no client for yet it connects to when something is sent.
    return client?.isReady === false;
  }
}
