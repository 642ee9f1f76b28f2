import { setTimeout } from 'node:timers/promises';
import { type Charge, type Decision, toQuota } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { type RedisCluster, startCluster } from '@floodgate/test-redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisStore } from '../src/index.ts';
import { callsOf } from './calls-of.ts';
import { CLUSTER_LIBRARIES, type OpenClient } from './clients.ts';

// Three masters, each with a part of the slots.

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startCluster();
}, 60_000);
beforeEach(async () => {
  for (const master of await cluster.masters()) await master.command('FLUSHALL');
});
afterAll(() => cluster.stop());

function charge(key: string, quota = '5/1h', policy = 'policy', cost = 1): Charge {
  return { policy, key, quota: toQuota(quota), cost };
}

/** How often the nodes ran scripts. */
async function calls(act: () => Promise<unknown>): Promise<number> {
  for (const node of cluster.nodes) await node.command('CONFIG', 'RESETSTAT');
  await act();
  const counts = await Promise.all(
    (await cluster.masters()).flatMap((node) => [callsOf(node, 'evalsha'), callsOf(node, 'eval')]),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Enough of them to be on all nodes. */
const KEYS = Array.from({ length: 300 }, (_, i) => `user:${i}`);

describe.each(CLUSTER_LIBRARIES)('with a client of $name', ({ open }) => {
  let connection: OpenClient;
  let store: RedisStore;
  beforeEach(async () => {
    connection = await open(cluster);
    store = new RedisStore({ client: connection.client, timeout: '10s', localDenials: false });
  });
  afterEach(() => connection.close());

  const remaining = async (act: (key: string) => Promise<Decision[]>): Promise<Set<number>> => {
    const decisions = await Promise.all(KEYS.map(act));
    return new Set(decisions.flat().map((decision) => decision.remaining));
  };

  test('300 keys over all slots, right after the start, and after a node forgot its scripts', async () => {
    expect(await remaining((key) => store.take([charge(key)]))).toEqual(new Set([4]));
    const [master] = await cluster.masters();
    await master?.command('SCRIPT', 'FLUSH');
    expect(await remaining((key) => store.take([charge(key)]))).toEqual(new Set([3]));
    await Promise.all(KEYS.map((key) => store.refund([{ ...charge(key), atMs: Date.now() }])));
    await Promise.all(KEYS.slice(0, 150).map((key) => store.block([charge(key)], 60_000)));
    await store.reset(KEYS.slice(100, 200).map((key) => charge(key)));
    const decisions = await Promise.all(KEYS.map((key) => store.take([charge(key)])));
    expect(decisions.flat().map((decision) => decision.remaining)).toEqual([
      ...Array(100).fill(0),
      ...Array(100).fill(4),
      ...Array(100).fill(3),
    ]);
    const masters = await cluster.masters();
    const sizes = await Promise.all(masters.map((node) => node.command('DBSIZE')));
    expect(sizes.reduce((sum: number, size) => sum + Number(size), 0)).toBe(300);
    expect(Math.min(...sizes.map(Number))).toBeGreaterThan(50);
  });

  test('one take of three policies is one call, and 256 takes of one slot are another', async () => {
    const policies = ['a', 'b', 'c'].map((policy) => charge('user:42', '900/1h', policy));
    await store.take(policies);
    expect(await calls(() => store.take(policies))).toBe(1);
    const takes = () =>
      Promise.all(
        Array.from({ length: 256 }, (_, i) => store.take([charge('user:42', '900/1h', `p${i}`)])),
      );
    expect(await calls(takes)).toBe(1);
  });
});

describe('subjects in several slots', () => {
  let connection: OpenClient;
  let clock: ManualClock;
  let store: RedisStore;
  beforeEach(async () => {
    connection = await (CLUSTER_LIBRARIES[0] as (typeof CLUSTER_LIBRARIES)[0]).open(cluster);
    clock = new ManualClock(1_767_225_600_000);
    store = new RedisStore({
      client: connection.client,
      clock,
      timeout: '10s',
      localDenials: false,
    });
  });
  afterEach(() => connection.close());

  const left = async (...charges: Charge[]): Promise<number[]> => {
    const decisions = await Promise.all(
      charges.map((one) => store.take([{ ...one, cost: 0 }], { mode: 'peek' })),
    );
    return decisions.flat().map(({ remaining }) => remaining);
  };

  const user = charge('user:1', '5/1h', 'user');
  const team = charge('team:1', '50/1h', 'team');
  const all = charge('global', '10/1h', 'all');

  test('are charged all or none, and each says what it has left', async () => {
    for (const used of [1, 2, 3, 4, 5]) {
      const decisions = await store.take([all, user, team]);
      expect(decisions.map(({ remaining }) => remaining)).toEqual([10 - used, 5 - used, 50 - used]);
    }
    for (let i = 0; i < 3; i += 1) {
      const decisions = await store.take([all, user, team]);
      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, true]);
      expect(decisions.map(({ remaining }) => remaining)).toEqual([5, 0, 45]);
    }
    expect(await left(all, user, team)).toEqual([5, 0, 45]);
    // Denied by the last one that is asked: what the others took is given back.
    await store.take([{ ...all, cost: 5 }]);
    const other = charge('user:2', 'sliding-window-log 5/1h', 'user');
    const decisions = await store.take([all, other, team]);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([false, true, true]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([0, 5, 45]);
    expect(await left(all, other, team)).toEqual([0, 5, 45]);
  });

  test('are asked one after the other, the widest key last', async () => {
    const order: string[] = [];
    const monitors: { disconnect(): void }[] = [];
    for (const { host, port } of await cluster.masters()) {
      const client = new Redis(port, host);
      const monitor = await client.monitor();
      monitors.push(client, monitor);
      monitor.on('monitor', (_time: string, args: string[]) => {
        if (args.includes('take')) order.push(args[3] as string);
      });
    }
    await store.take([all, team, user]);
    while (order.length < 3) await setTimeout(5);
    expect(order).toEqual([
      'floodgate:{user:1}:user',
      'floodgate:{team:1}:team',
      'floodgate:{global}:all',
    ]);
    for (const monitor of monitors) monitor.disconnect();
  });

  test('are peeked at, and forced, and given back', async () => {
    await store.take([user], { mode: 'force' });
    await store.take([all, user, team], { mode: 'force' });
    expect(await left(all, user, team)).toEqual([9, 3, 49]);
    const peeked = await store.take([all, { ...user, cost: 4 }, team], { mode: 'peek' });
    expect(peeked.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 9],
      [false, 3],
      [true, 49],
    ]);
    const atMs = clock.now();
    await store.refund([user, team, all].map((one) => ({ ...one, atMs })));
    expect(await left(all, user, team)).toEqual([10, 4, 50]);
  });

  test('of which one denies again are denied without a question', async () => {
    store = new RedisStore({ client: connection.client, clock, timeout: '10s' });
    await store.take([{ ...all, cost: 10 }]);
    await store.take([user, all]);
    const again = async () => {
      const decisions = await store.take([user, all]);
      expect(decisions.map(({ remaining }) => remaining)).toEqual([5, 0]);
    };
    expect(await calls(again)).toBe(0);
  });

  test('of which one denies, are not charged, not even for a moment', async () => {
    const strict = charge('user:1', '1/1h block=1h', 'user');
    await store.take([{ ...all, cost: 10 }]);
    const [group, alone] = await Promise.all([store.take([strict, all]), store.take([strict])]);
    expect(group.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(alone).toMatchObject([{ allowed: true }]);
    // Who is denied is blocked, though another one denied as well.
    await store.take([strict, all]);
    await store.reset([all]);
    expect(await store.take([strict, all])).toMatchObject([{ blocked: true }, { remaining: 10 }]);
  });

  test('at once, hundreds of them, never pass more than the limit', async () => {
    const groups = KEYS.map((key) => [charge(key), charge('global', '40/1h', 'all')]);
    const decisions = await Promise.all(groups.map((group) => store.take(group)));
    const admitted = decisions.filter((group) => group.every(({ allowed }) => allowed)).length;
    expect(admitted).toBe(40);
    const used = await Promise.all(KEYS.map((key) => left(charge(key))));
    expect(used.flat().filter((remaining) => remaining === 4)).toHaveLength(40);
    expect(used.flat().filter((remaining) => remaining === 5)).toHaveLength(260);
  });
});
