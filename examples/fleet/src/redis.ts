import { openStore } from '@floodgate/example-open-store';
import { HttpLimiter, keys } from '@floodgate/express';
import { startRedis } from '@floodgate/test-redis';
import { perClient } from './app.ts';

/** A Redis server for the fleet's counts. */
export interface SharedRedis {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The Redis at this URL; without one, a server of our own. Rejects, with a sentence, where it does not answer.
 *
 * @param client whose count begins anew in it, and does not stay there
 */
export async function openRedis(url: string, client: string): Promise<SharedRedis> {
  if (url === '') {
    const redis = await startRedis();
    return { url: redis.url, close: () => redis.stop() };
  }
  await forget(url, client);
  return { url, close: () => forget(url, client) };
}

async function forget(url: string, client: string): Promise<void> {
  const { store, close } = await openStore(url);
  try {
    await new HttpLimiter({ ...perClient, store }).reset(keys.ip(client));
  } finally {
    close();
  }
}
