import { expectAgreement } from './cluster-agreement.ts';
import { type ClusterView, includes, SLOTS, type SlotRange, viewOf } from './cluster-view.ts';
import { eventually } from './eventually.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import { SlotMove } from './slot-move.ts';

/** How large a cluster is. */
export interface ClusterOptions {
  /** Fewer than three cannot agree that one of them is down. @default 3 */
  readonly masters?: number;
  /** Of each master. @default 1 */
  readonly replicas?: number;
}

const NODE_TIMEOUT_MS = 1_500;

const ARGS = [
  // A master is replaced soon after this, and soon is what a test wants; but not when a busy machine stutters.
  ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS)],
  // What is lost with a master is its own slots only, and a replica takes over however long it was without it.
  ...['--cluster-require-full-coverage', 'no'],
  ...['--cluster-replica-validity-factor', '0'],
  // Replicas stay with their masters, and a master that has no slots left stays one: the test says who is who.
  ...['--cluster-allow-replica-migration', 'no'],
  // Until something was written, which this is, clients are told of no replicas.
  ...['--repl-ping-replica-period', '1'],
  // No copy stays on the disk, to be found by a server that is to come back empty.
  ...['--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0'],
  ...['--rdb-del-sync-files', 'yes'],
];

/** A replica gives a failover up after five seconds, without a word. */
const FAILOVER_MS = 6_000;
/** Until then a replica takes the votes of its last election for those of the next one, or asks for none. */
const REST_MS = 4 * NODE_TIMEOUT_MS + 500;

/**
 * Starts a Redis Cluster on free ports of 127.0.0.1, which keeps nothing and ends when this process does, at the latest.
 *
 * @example
 * const cluster = await startCluster();
 * const client = new Redis.Cluster([...cluster.seeds]);
 * await (await cluster.masterOf(0)).crash();
 * await cluster.untilServed(); // by the replica of the one that is gone
 * await cluster.stop();
 */
export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 1 } = options;
  const starts = Array.from({ length: masters * (1 + replicas) }, () =>
    startRedis({ cluster: true, args: ARGS }),
  );
  const results = await Promise.allSettled(starts);
  const nodes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const cluster = new RedisCluster(nodes);
  try {
    await Promise.all(starts);
    await join(nodes, masters);
    await cluster.untilServed();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** A Redis Cluster of one's own. Each node may be crashed, paused and restarted, and comes back as a node of it. */
export class RedisCluster {
  /** First those that were masters at the start, and then their replicas. */
  readonly nodes: readonly RedisServer[];
  /** What a client has to be told: where the nodes are. */
  readonly seeds: readonly { readonly host: string; readonly port: number }[];

  readonly #resting = new Set<RedisServer>();

  /** @internal `startCluster` makes them. */
  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
    this.seeds = nodes.map(({ host, port }) => ({ host, port }));
  }

  /** The node that has the slot now. Rejects where no node does that answers. */
  async masterOf(slot: number): Promise<RedisServer> {
    const master = ownerOf(await this.#claims(), slot);
    if (master === undefined) throw new Error(`Expected a node to have slot ${slot}`);
    return master;
  }

  /** The nodes that have slots now, and answer, in the order of their first slots. */
  async masters(): Promise<RedisServer[]> {
    const claims = await this.#claims();
    const masters = new Set<RedisServer>();
    for (let slot = 0; slot < SLOTS; slot += 1) {
      const master = ownerOf(claims, slot);
      if (master !== undefined) masters.add(master);
    }
    return [...masters];
  }

  /** A replica of the node that answers, whether or not its master does. */
  async replicaOf(master: RedisServer): Promise<RedisServer | undefined> {
    const views = await this.#views();
    return views.find(({ follows }) => follows?.port === master.port)?.node;
  }

  /**
   * Waits until each slot, or the one that is named, has a master that answers, every node that answers knows who it is,
   * and those replicas of it that answer are in step.
   */
  async untilServed(slot?: number): Promise<void> {
    await eventually(async () => {
      expectAgreement(await Promise.all(this.#answering().map(viewOf)), slot);
    });
  }

  /**
   * Makes a replica the master of what its master has, which becomes its replica, and loses nothing. Takes some seconds
   * longer where the same node took over a moment ago.
   */
  async failover(replica: RedisServer): Promise<void> {
    for (let isLast = false; ; isLast = true) {
      await eventually(async () => {
        if (this.#resting.has(replica)) throw new Error(`Expected ${replica.url} to have rested`);
      });
      await this.untilServed();
      await replica.command('CLUSTER', 'FAILOVER');
      this.#rest(replica);
      const failure = await eventually(() => expectMaster(replica), FAILOVER_MS).catch((e) => e);
      await this.untilServed();
      if ((await this.masters()).includes(replica)) return;
      // It may have rested for too short a time after an election that came by itself.
      if (isLast) throw new Error(`Expected ${replica.url} to stay a master`, { cause: failure });
    }
  }

  /** Moves a slot, with its keys, to another master. */
  async moveSlot(slot: number, to: RedisServer): Promise<void> {
    await (await this.startMove(slot, to)).finish();
  }

  /** Begins to move a slot to another master: neither its keys nor the slot itself are moved yet. */
  async startMove(slot: number, to: RedisServer): Promise<SlotMove> {
    const move = new SlotMove(this, slot, await this.masterOf(slot), to);
    await move.start();
    return move;
  }

  /** Stops all nodes for good, and removes their folders. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  #rest(replica: RedisServer): void {
    this.#resting.add(replica);
    setTimeout(() => this.#resting.delete(replica), REST_MS).unref();
  }

  #answering(): RedisServer[] {
    return this.nodes.filter((node) => node.isAnswering);
  }

  /** Of the nodes that answer. */
  async #views(): Promise<ClusterView[]> {
    const results = await Promise.allSettled(this.#answering().map(viewOf));
    return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  /** What nodes say of themselves. One that has lost its slots while it was away may not know yet. */
  async #claims(): Promise<Claim[]> {
    const views = await this.#views();
    views.sort((a, b) => b.epoch - a.epoch);
    return views.map(({ node, ranges }) => ({
      node,
      ranges: ranges.filter(({ master }) => master === node.port),
    }));
  }
}

interface Claim {
  readonly node: RedisServer;
  readonly ranges: readonly SlotRange[];
}

/** @param claims the ones that count more first */
function ownerOf(claims: readonly Claim[], slot: number): RedisServer | undefined {
  return claims.find(({ ranges }) => ranges.some((range) => includes(range, slot)))?.node;
}

/** Makes one cluster of nodes that know nothing yet. */
async function join(nodes: readonly RedisServer[], masters: number): Promise<void> {
  const share = Math.ceil(SLOTS / masters);
  for (const [index, node] of nodes.entries()) {
    // Nodes of the same epoch would have to sort that out first.
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    // They would hear of each other by and by.
    for (const other of nodes.slice(0, index)) {
      await node.command('CLUSTER', 'MEET', other.host, String(other.port));
    }
    if (index >= masters) continue;
    const first = index * share;
    const slots = Array.from({ length: Math.min(share, SLOTS - first) }, (_, i) => first + i);
    await node.command('CLUSTER', 'ADDSLOTS', ...slots.map(String));
  }
  for (const [index, replica] of nodes.slice(masters).entries()) {
    const master = String(await nodes[index % masters]?.command('CLUSTER', 'MYID'));
    // It has to have heard of its master.
    await eventually(() => replica.command('CLUSTER', 'REPLICATE', master));
  }
}

async function expectMaster(node: RedisServer): Promise<void> {
  const { follows } = await viewOf(node);
  if (follows !== undefined) throw new Error(`Expected ${node.url} to become a master`);
}
