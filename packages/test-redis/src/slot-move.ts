import type { RedisCluster } from './redis-cluster.ts';
import type { RedisServer } from './redis-server.ts';

const BATCH = 100;
const TIMEOUT_MS = 10_000;

/**
 * A slot on its way from one master to another. Meanwhile the one that it leaves answers for the keys that it still has,
 * and else with `ASK`; or with `TRYAGAIN`, where a command names keys of which it has only some.
 */
export class SlotMove {
  readonly slot: number;
  readonly from: RedisServer;
  readonly to: RedisServer;
  readonly #cluster: RedisCluster;

  /** @internal `cluster.startMove` makes them. */
  constructor(cluster: RedisCluster, slot: number, from: RedisServer, to: RedisServer) {
    this.#cluster = cluster;
    this.slot = slot;
    this.from = from;
    this.to = to;
  }

  /** @internal */
  async start(): Promise<void> {
    const [from, to] = await Promise.all([idOf(this.from), idOf(this.to)]);
    // In this order, nobody is sent to a node that does not expect him.
    await this.#setSlot(this.to, 'IMPORTING', from);
    await this.#setSlot(this.from, 'MIGRATING', to);
  }

  /**
   * Moves keys of the slot, with their values and what is left of their time.
   *
   * @param count so many at most @default all
   * @returns how many
   */
  async keys(count: number = Number.POSITIVE_INFINITY): Promise<number> {
    const { from, to, slot } = this;
    let moved = 0;
    while (moved < count) {
      const batch = String(Math.min(BATCH, count - moved));
      const keys = await from.command('CLUSTER', 'GETKEYSINSLOT', String(slot), batch);
      if (!Array.isArray(keys) || keys.length === 0) break;
      const target = [to.host, String(to.port), '', '0', String(TIMEOUT_MS)];
      await from.command('MIGRATE', ...target, 'KEYS', ...keys);
      moved += keys.length;
    }
    return moved;
  }

  /** Moves the keys that are left, and then the slot itself; waits until every node that answers knows. */
  async finish(): Promise<void> {
    await this.keys();
    const to = await idOf(this.to);
    // The new owner first: were it the old one, nobody would have the slot in between.
    for (const master of new Set([this.to, this.from, ...(await this.#cluster.masters())])) {
      await this.#setSlot(master, 'NODE', to);
    }
    await this.#cluster.untilServed(this.slot);
  }

  async #setSlot(node: RedisServer, ...what: string[]): Promise<void> {
    await node.command('CLUSTER', 'SETSLOT', String(this.slot), ...what);
  }
}

/** By which nodes know the node; it stays the same when it is restarted. */
async function idOf(node: RedisServer): Promise<string> {
  return String(await node.command('CLUSTER', 'MYID'));
}
