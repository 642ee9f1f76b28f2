import { setTimeout } from 'node:timers/promises';
import { type FloodgateEvent, RateLimiter } from '@floodgate/core';
import { type RedisCluster, type RedisServer, startCluster } from '@floodgate/test-redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { RedisStore } from '../src/index.ts';
import { CLUSTER_LIBRARIES, type OpenClient } from './clients.ts';

// Slots that are moved, masters that are replaced, and masters that are lost.

let cluster: RedisCluster;
let connection: OpenClient;

const KEYS = Array.from({ length: 300 }, (_, i) => `user:${i}`);
const POLICIES = ['minute', 'hour', 'day'];

async function slotOf(key: string): Promise<number> {
  const slot = await cluster.nodes[0]?.command('CLUSTER', 'KEYSLOT', `floodgate:{${key}}:day`);
  return slot as number;
}

/** Keys whose subjects are in a slot. */
function keysIn(slot: number, count: number): string[] {
  const keys: string[] = [];
  for (let i = 0; keys.length < count; i += 1) {
    if (calculateSlot(`late:${i}`) === slot) keys.push(`late:${i}`);
  }
  return keys;
}

async function otherMaster(than: RedisServer): Promise<RedisServer> {
  const others = (await cluster.masters()).filter((master) => master !== than);
  return others[0] as RedisServer;
}

function limiterOf({ client }: OpenClient, limit = 100) {
  const events: FloodgateEvent[] = [];
  const limiter = new RateLimiter({
    store: new RedisStore({ client, timeout: '1s', localDenials: false }),
    policies: POLICIES.map((name) => ({ name, quota: `fixed-window ${limit}/1d` })),
    onEvent: (event) => events.push(event),
  });
  return { limiter, events };
}

/** Takes that come all the time, of many keys at once, until they are told to stop. */
class Burst {
  readonly admitted: Map<string, number> = new Map();
  /** Why takes failed, each with a key of which one did. */
  readonly errors: Set<string> = new Set();
  #rounds = 0;
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(limiter: RateLimiter<RedisStore>, keys: readonly string[]) {
    this.#done = this.#run(limiter, keys);
  }

  /** Until there were so many more. */
  async rounds(count: number): Promise<void> {
    const last = this.#rounds + count;
    while (this.#rounds < last) await setTimeout(5);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  async #run(limiter: RateLimiter<RedisStore>, keys: readonly string[]): Promise<void> {
    while (!this.#isOver) {
      const verdicts = await Promise.all(keys.map((key) => limiter.take(key)));
      for (const [i, { allowed, degraded }] of verdicts.entries()) {
        const key = keys[i] as string;
        if (degraded !== undefined) {
          this.errors.add(`${key}: ${degraded.error.message}`);
        } else if (allowed) {
          this.admitted.set(key, (this.admitted.get(key) ?? 0) + 1);
        }
      }
      this.#rounds += 1;
      await setTimeout(5);
    }
  }
}

/** What is charged of each key. */
async function charged(limiter: RateLimiter<RedisStore>, keys: readonly string[]) {
  const verdicts = await Promise.all(keys.map((key) => limiter.peek(key, { cost: 0 })));
  return verdicts.map(({ decisions }) => {
    const used = decisions.map(({ limit, remaining }) => limit - remaining);
    return Math.max(...used);
  });
}

/** One of each kind: the others find their nodes in the same way. */
const KINDS = CLUSTER_LIBRARIES.filter(({ name }) => /redis 6$/.test(name));

describe.each(KINDS)('with a client of $name', ({ open }) => {
  beforeAll(async () => {
    cluster = await startCluster();
    connection = await open(cluster);
  }, 60_000);
  afterAll(async () => {
    connection.close();
    await cluster.stop();
  });

  test('a slot that is moved: nobody notices, and nothing is counted twice or lost', async () => {
    const { limiter, events } = limiterOf(connection, 50);
    const slot = await slotOf('moved');
    // Whose keys are in that slot too, and not there yet when it begins to move.
    const late = keysIn(slot, 6);
    const from = await cluster.masterOf(slot);
    const burst = new Burst(limiter, ['moved', 'moved', ...KEYS.slice(0, 20)]);
    await burst.rounds(5);
    const move = await cluster.startMove(slot, await otherMaster(from));
    // Some keys of one user here, and some there; of new ones, all are there.
    const latecomers = new Burst(limiter, late);
    for (const keys of [0, 1, 1]) {
      await move.keys(keys);
      await Promise.all([burst.rounds(8), latecomers.rounds(8)]);
    }
    await move.finish();
    await burst.rounds(8);
    await burst.stop();
    await latecomers.stop();
    expect([...burst.errors, ...latecomers.errors]).toEqual([]);
    expect(events).toEqual([]);
    expect(await charged(limiter, late)).toEqual(late.map((key) => latecomers.admitted.get(key)));
    const keys = [...burst.admitted.keys()];
    expect(await charged(limiter, keys)).toEqual([...burst.admitted.values()]);
    expect(burst.admitted.get('moved')).toBe(50);
  });
});

describe.each(KINDS)('with a client of $name', ({ open }) => {
  let lost: RedisServer;
  let ofLost: string[];
  let ofOthers: string[];

  // Of each test its own: a cluster that has just replaced a master may be slow to do so again.
  beforeEach(async () => {
    cluster = await startCluster();
    connection = await open(cluster);
    lost = await cluster.masterOf(await slotOf(KEYS[0] as string));
    const ranges = (await lost.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
    const slots = await Promise.all(KEYS.map(slotOf));
    const isLost = slots.map((slot) =>
      ranges.some(([from, to, [, port]]) => from <= slot && slot <= to && port === lost.port),
    );
    ofLost = KEYS.filter((_, i) => isLost[i]);
    ofOthers = KEYS.filter((_, i) => !isLost[i]);
  }, 60_000);
  afterEach(async () => {
    connection.close();
    await cluster.stop();
  });

  test('a master that is replaced in the middle of a burst', async () => {
    const limit = 40;
    const { limiter } = limiterOf(connection, limit);
    const keys = [...ofLost.slice(0, 10), ...ofOthers.slice(0, 20)];
    const burst = new Burst(limiter, keys);
    await burst.rounds(5);
    await lost.crash();
    await cluster.untilServed();
    while ((await limiter.peek(keys[0] as string)).degraded !== undefined) await setTimeout(20);
    await burst.rounds(30);
    await burst.stop();

    const isOfLost = (error: string) => ofLost.some((key) => error.startsWith(`${key}: `));
    expect([...burst.errors].filter((error) => !isOfLost(error))).toEqual([]);
    const others = keys.filter((key) => ofOthers.includes(key));
    expect(await charged(limiter, others)).toEqual(others.map((key) => burst.admitted.get(key)));
    // What the replica did not have yet is lost with the master: the takes of a moment.
    const counts = await charged(limiter, ofLost.slice(0, 10));
    for (const [i, count] of counts.entries()) {
      expect(count).toBeLessThanOrEqual(limit);
      expect(burst.admitted.get(ofLost[i] as string)).toBeLessThanOrEqual(count + 10);
    }
  }, 60_000);

  test('a master that is lost, and nobody takes over: only its keys are decided by the rule', async () => {
    const { limiter } = limiterOf(connection, 1000);
    const degraded = async (): Promise<string[]> => {
      const verdicts = await Promise.all(KEYS.map((key) => limiter.take(key)));
      expect(verdicts.every(({ allowed }) => allowed)).toBe(true);
      return KEYS.filter((_, i) => verdicts[i]?.degraded !== undefined);
    };
    expect(await degraded()).toEqual([]);
    const replica = await cluster.replicaOf(lost);
    await replica?.crash();
    await lost.crash();
    // Whoever waits for the one that is lost, until its breaker opens, holds up nobody else.
    for (let i = 0; i < 8; i += 1) {
      const rest = limiter.take(ofOthers[i] as string);
      const all = degraded();
      expect(await Promise.race([rest, all])).toMatchObject({ degraded: undefined });
      await all;
    }
    expect(await degraded()).toEqual(ofLost);
    await lost.restart();
    await replica?.restart();
    await cluster.untilServed();
    while ((await degraded()).length > 0) await setTimeout(20);
  }, 60_000);
});
