import type { RedisServer } from './redis-server.ts';

/** Each key belongs to one of so many. */
export const SLOTS = 16_384;

/** What one node of a cluster holds to be true, which may be less, or other, than what is. */
export interface ClusterView {
  readonly node: RedisServer;
  /** Whether it answers for its slots: it reaches most masters, and is not just starting. */
  readonly isOk: boolean;
  /** Its own as a master, or its master's: of two that say to have a slot, the one with the higher epoch has it. */
  readonly epoch: number;
  /** In the order of the slots. */
  readonly ranges: readonly SlotRange[];
  /** Where it is a replica: the port of its master, and whether it follows it. */
  readonly follows?: { readonly port: number; readonly isInStep: boolean };
}

/** Slots in a row that have the same master. Nodes are told apart by their ports. */
export interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly master: number;
  /** In ascending order; without those that the node holds to be down. */
  readonly replicas: readonly number[];
}

/** Asks a node for its view. */
export async function viewOf(node: RedisServer): Promise<ClusterView> {
  const [info, slots, role] = await Promise.all([
    node.command('CLUSTER', 'INFO'),
    node.command('CLUSTER', 'SLOTS'),
    node.command('ROLE'),
  ]);
  const [kind, , port, state] = role as [string, unknown, number, string];
  return {
    node,
    isOk: String(info).includes('cluster_state:ok\r\n'),
    epoch: Number(/^cluster_my_epoch:(\d+)/m.exec(String(info))?.[1]),
    ranges: (slots as SlotsEntry[]).map(rangeOf).sort((a, b) => a.first - b.first),
    ...(kind === 'slave' && { follows: { port, isInStep: state === 'connected' } }),
  };
}

export function includes({ first, last }: SlotRange, slot: number): boolean {
  return first <= slot && slot <= last;
}

type Address = readonly [host: string, port: number, id: string, ...unknown[]];
type SlotsEntry = readonly [first: number, last: number, master: Address, ...replicas: Address[]];

function rangeOf([first, last, [, master], ...replicas]: SlotsEntry): SlotRange {
  const ports = replicas.map(([, port]) => port);
  return { first, last, master, replicas: ports.sort((a, b) => a - b) };
}
