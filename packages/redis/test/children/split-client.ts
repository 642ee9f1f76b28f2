import calculateSlot from 'cluster-key-slot';
import type { Redis } from 'ioredis';
import type { IoredisCluster } from '../../src/index.ts';

/** What is done to a call before the server gets it, by what it is and the first of its keys. */
export type Hook = (operation: string, key: string) => Promise<void> | void;

/**
 * A client of one real server that says it is a cluster with a node for each slot: so that what goes to one of them can be
 * held up, or fail, at the very moment that a test wants.
 */
export class SplitClient implements IoredisCluster {
  readonly isCluster = true;
  readonly status = 'ready';
  readonly slots: string[][] = Array.from({ length: 16_384 }, (_, slot) => [`node-${slot}:6379`]);
  hook: Hook = () => {};
  readonly #client: Redis;

  constructor(client: Redis) {
    this.#client = client;
  }

  nodes(): readonly [] {
    return [];
  }

  async evalsha(sha: string, keyCount: number, ...rest: string[]): Promise<unknown> {
    await this.#meet(keyCount, rest);
    return this.#client.evalsha(sha, keyCount, ...rest);
  }

  async eval(source: string, keyCount: number, ...rest: string[]): Promise<unknown> {
    await this.#meet(keyCount, rest);
    return this.#client.eval(source, keyCount, ...rest);
  }

  async #meet(keyCount: number, rest: readonly string[]): Promise<void> {
    const keys = rest.slice(0, keyCount);
    if (new Set(keys.map((key) => calculateSlot(key))).size > 1) throw new Error('CROSSSLOT');
    const operation = rest.find((word) => /^(take|deny|peek|force|refund)$/.test(word)) ?? '';
    await this.hook(operation, keys[0] as string);
  }
}
