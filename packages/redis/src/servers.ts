import {
  connectionOf,
  invalidClient,
  isIoredisCluster,
  isNodeRedisCluster,
  type RedisClient,
} from './client.ts';
import { IoredisServers, NodeRedisServers } from './cluster.ts';
import { GuardedCalls } from './guarded-calls.ts';

/** Which server has what. */
export interface Servers {
  /** The slot of a key: what is in one slot is on one server, and can be part of one call. */
  slotOf(key: string): number;
  /** That of a slot, as far as is known. */
  of(slot: number): GuardedCalls;
}

/** @throws FloodgateError `FLOODGATE_INVALID_OPTION` for what is no client */
export function serversOf(client: RedisClient, timeoutMs: number): Servers {
  if (isIoredisCluster(client)) return new IoredisServers(client, timeoutMs);
  if (isNodeRedisCluster(client)) return new NodeRedisServers(client, timeoutMs);
  const connection = connectionOf(client);
  if (connection === undefined) throw invalidClient(client);
  const only = new GuardedCalls(connection, timeoutMs);
  return { slotOf: () => 0, of: () => only };
}
