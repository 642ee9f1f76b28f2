import { connectionOf, type RedisClient } from './client.ts';
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
  const only = new GuardedCalls(connectionOf(client), timeoutMs);
  return { slotOf: () => 0, of: () => only };
}
