import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { MemoryStore, type Store } from '@floodgate/core';
import { FailingStore, type ManualClock } from '@floodgate/core/testing';
import { RedisStore } from '@floodgate/redis';
import { Redis } from 'ioredis';

/** Where an app has its counts, by a clock that steps move. */
export interface Counts {
  readonly store: Store;
  happen(event: 'fails' | 'recovers'): void;
  /** Waits until what answered requests cost is settled. */
  settled(): Promise<void>;
  close(): void;
}

/** @param remote whether the store answers in promises, as one behind a network does */
export function countsInMemory(clock: ManualClock, remote: boolean): Counts {
  const store = new FailingStore(new MemoryStore({ clock }), { remote });
  return {
    store,
    happen: (event) => (event === 'fails' ? store.fail() : store.recover()),
    // At the very end of a response.
    async settled() {},
    close() {},
  };
}

/** In a place of its own on a server, which does not fail. */
export async function countsOnRedis(clock: ManualClock, url: string): Promise<Counts> {
  const client = new Redis(url);
  await once(client, 'ready');
  return {
    // However busy the machine is.
    store: new RedisStore({ client, clock, prefix: randomUUID(), timeout: '30s' }),
    happen(event) {
      throw new Error(`Expected a store that can be told to fail, since it now ${event}`);
    },
    // Where it may start a block it asks Redis three things, one after the other.
    async settled() {
      for (let i = 0; i < 4; i += 1) {
        await client.ping();
        await setImmediate();
      }
    },
    close: () => client.disconnect(),
  };
}
