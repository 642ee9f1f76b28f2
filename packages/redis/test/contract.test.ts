import type { Clock } from '@floodgate/core';
import { ManualClock, storeContract } from '@floodgate/core/testing';
import { startCluster, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { testWorkedTimelines } from '../../core/test/worked-timelines.ts';
import { type RedisClient, RedisStore } from '../src/index.ts';
import { CLUSTER_LIBRARIES, type ClusterKind, ioredis6 } from './clients.ts';

// What every store must do, and the timelines that another program worked out, on real servers.

interface Place {
  readonly client: RedisClient;
  close(): Promise<void>;
}

const PLACES: Record<string, () => Promise<Place>> = {
  'one server': async () => {
    const server = await startRedis();
    const { client, close } = await ioredis6('').open(server);
    return {
      client,
      close: () => {
        close();
        return server.stop();
      },
    };
  },
  'a cluster': async () => {
    const cluster = await startCluster();
    const { client, close } = await (CLUSTER_LIBRARIES[0] as ClusterKind).open(cluster);
    return {
      client,
      close: () => {
        close();
        return cluster.stop();
      },
    };
  },
};

let stores = 0;

describe.each(Object.entries(PLACES))('on %s', (_, open) => {
  let place: Place;
  beforeAll(async () => {
    place = await open();
  }, 60_000);
  afterAll(() => place.close());

  /** A store that holds nothing yet. */
  function emptyStore(clock: Clock): RedisStore {
    stores += 1;
    const { client } = place;
    return new RedisStore({ client, clock, prefix: `store-${stores}`, timeout: '30s' });
  }

  describe('the contract of all stores', () => {
    const cases = storeContract(() => {
      const clock = new ManualClock();
      return { clock, store: emptyStore(clock) };
    });

    test.each(cases)('$name', ({ run }) => run());
  });

  describe('the worked timelines', () => testWorkedTimelines(emptyStore));
});
