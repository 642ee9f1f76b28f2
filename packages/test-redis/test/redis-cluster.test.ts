import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type RedisCluster, type RedisServer, startCluster, startRedis } from '../src/index.ts';
import { send } from '../src/resp.ts';

const SLOTS = 16_384;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** As a client would: on one connection, and as the default user. */
function ask({ host, port }: RedisServer, ...commands: string[][]): Promise<unknown> {
  return send({ host, port, commands });
}

describe('a cluster', () => {
  let cluster: RedisCluster;
  let first: RedisServer;
  let second: RedisServer;
  /** Of `first`. */
  let replica: RedisServer;

  beforeEach(async () => {
    cluster = await startCluster();
    [first, second] = (await cluster.masters()) as [RedisServer, RedisServer];
    replica = (await cluster.replicaOf(first)) as RedisServer;
  });

  afterEach(() => cluster.stop());

  /** What each node tells clients: how many slots are at which ports, the master's first. */
  async function maps(): Promise<Record<string, number>[]> {
    const answering = cluster.nodes.filter(({ isAnswering }) => isAnswering);
    const replies = await Promise.all(answering.map((node) => ask(node, ['CLUSTER', 'SLOTS'])));
    return replies.map((reply) => {
      const map: Record<string, number> = {};
      for (const [from, to, ...nodes] of reply as [number, number, ...[string, number][]][]) {
        const ports = nodes.map(([, port]) => port).join();
        map[ports] = (map[ports] ?? 0) + to - from + 1;
      }
      return map;
    });
  }

  /** Twenty keys of one slot of `first`, with values. */
  async function filledSlot(): Promise<{ slot: number; keys: string[] }> {
    for (let tag = 0; ; tag += 1) {
      const slot = Number(await first.command('CLUSTER', 'KEYSLOT', `{${tag}}`));
      if ((await cluster.masterOf(slot)) !== first) continue;
      const keys = Array.from({ length: 20 }, (_, i) => `{${tag}}:${i}`);
      for (const key of keys) await ask(first, ['SET', key, key, 'PX', '600000']);
      return { slot, keys };
    }
  }

  test('is up, on six nodes, and every node knows all of them', async () => {
    expect(cluster.nodes).toHaveLength(6);
    expect(cluster.seeds).toEqual(cluster.nodes.map(({ host, port }) => ({ host, port })));
    expect(await cluster.masters()).toEqual(cluster.nodes.slice(0, 3));
    const map: Record<string, number> = {};
    for (const [index, master] of (await cluster.masters()).entries()) {
      const itsReplica = await cluster.replicaOf(master);
      expect(itsReplica).toBe(cluster.nodes[3 + index]);
      map[`${master.port},${itsReplica?.port}`] = [5462, 5462, 5460][index] ?? 0;
    }
    expect(await maps()).toEqual(Array(6).fill(map));
    expect(await cluster.masterOf(0)).toBe(first);
    expect(await cluster.masterOf(SLOTS - 1)).toBe(cluster.nodes[2]);
  });

  test('has what was written to a master on its replica', async () => {
    const { keys } = await filledSlot();
    const [key = ''] = keys;
    expect(await ask(first, ['SET', key, 'value'], ['WAIT', '1', '0'])).toBe(1);
    expect(await ask(replica, ['READONLY'], ['GET', key])).toBe('value');
    await expect(ask(replica, ['GET', key])).rejects.toThrow(/^MOVED \d+ 127\.0\.0\.1:/);
  });

  test('moves a slot with its keys', async () => {
    const { slot, keys } = await filledSlot();
    await cluster.moveSlot(slot, second);
    expect(await cluster.masterOf(slot)).toBe(second);
    expect(await cluster.masters()).toHaveLength(3);
    expect(await ask(second, ['MGET', ...keys])).toEqual(keys);
    expect(Number(await ask(second, ['PTTL', keys[0] ?? '']))).toBeGreaterThan(0);
    for (const node of cluster.nodes) {
      if (node === second) continue;
      await expect(ask(node, ['MGET', ...keys])).rejects.toThrow(
        `MOVED ${slot} ${second.host}:${second.port}`,
      );
    }
    await cluster.moveSlot(slot, first);
    expect(await ask(first, ['MGET', ...keys])).toEqual(keys);
  });

  test('may be held in the middle of a move', async () => {
    const { slot, keys } = await filledSlot();
    const move = await cluster.startMove(slot, second);
    expect([move.slot, move.from, move.to]).toEqual([slot, first, second]);
    expect(await ask(first, ['MGET', ...keys])).toEqual(keys);
    expect(await move.keys(5)).toBe(5);

    const [left, gone] = [[] as string[], [] as string[]];
    for (const key of keys) {
      const reply = await ask(first, ['GET', key]).catch((error: Error) => error.message);
      if (reply === key) left.push(key);
      else if (reply === `ASK ${slot} ${second.host}:${second.port}`) gone.push(key);
    }
    expect([left.length, gone.length]).toEqual([15, 5]);
    await expect(ask(first, ['MGET', ...keys])).rejects.toThrow('TRYAGAIN');
    await expect(ask(second, ['MGET', ...gone])).rejects.toThrow(`MOVED ${slot}`);
    expect(await ask(second, ['ASKING'], ['MGET', ...gone])).toEqual(gone);
    expect(await cluster.masterOf(slot)).toBe(first);

    expect(await move.keys()).toBe(15);
    expect(await move.keys()).toBe(0);
    await expect(ask(first, ['GET', keys[0] ?? ''])).rejects.toThrow(`ASK ${slot}`);
    await move.finish();
    expect(await cluster.masterOf(slot)).toBe(second);
    expect(await ask(second, ['MGET', ...keys])).toEqual(keys);
  });

  test('lets a replica take over', async () => {
    const { slot, keys } = await filledSlot();
    await cluster.failover(replica);
    expect(await cluster.masterOf(slot)).toBe(replica);
    expect(await cluster.replicaOf(replica)).toBe(first);
    expect(await ask(replica, ['MGET', ...keys])).toEqual(keys);
    await expect(cluster.failover(replica)).rejects.toThrow('to a replica');
  });

  test('replaces a master that crashed, which comes back as a replica', async () => {
    const { slot, keys } = await filledSlot();
    await ask(first, ['SET', keys[0] ?? '', keys[0] ?? ''], ['WAIT', '1', '0']);
    await first.crash();
    expect(await cluster.masters()).toEqual(cluster.nodes.slice(1, 3));
    await expect(cluster.masterOf(slot)).rejects.toThrow(`Expected a node to have slot ${slot}`);
    expect(await cluster.replicaOf(first)).toBe(replica);

    await cluster.untilServed();
    expect(await cluster.masterOf(slot)).toBe(replica);
    expect(await cluster.replicaOf(replica)).toBeUndefined();
    expect(await ask(replica, ['MGET', ...keys])).toEqual(keys);

    await first.restart();
    await cluster.untilServed();
    expect(await cluster.masterOf(slot)).toBe(replica);
    expect(await cluster.replicaOf(replica)).toBe(first);
    expect(await ask(first, ['READONLY'], ['MGET', ...keys])).toEqual(keys);
  });

  test('serves the other slots where a master and its replica are gone', async () => {
    await Promise.all([first.crash(), replica.crash()]);
    await cluster.untilServed(SLOTS - 1);
    expect(await cluster.masterOf(SLOTS - 1)).toBe(cluster.nodes[2]);
    await expect(cluster.masterOf(0)).rejects.toThrow('Expected a node to have slot 0');
  });

  test('is gone once it is stopped, also where nodes are paused', async () => {
    first.pause();
    await cluster.stop();
    expect(cluster.nodes.filter(({ pid }) => isRunning(pid))).toEqual([]);
  });
});

test('a cluster may be of any size', async () => {
  const cluster = await startCluster({ masters: 1, replicas: 0 });
  expect(await cluster.masters()).toEqual(cluster.nodes);
  expect(await cluster.replicaOf(cluster.nodes[0] as RedisServer)).toBeUndefined();
  await cluster.stop();
});

test('a node leaves the port of its bus to whoever took it meanwhile', async () => {
  const node = await startRedis({ cluster: true });
  await node.crash();
  const other = createServer();
  await once(other.listen(node.port + 10_000, node.host), 'listening');
  await expect(node.restart()).rejects.toThrow(`Port ${node.port} was taken`);
  other.close();
  await node.stop();
});

describe('a cluster ends with the process that started it', () => {
  const program = (then: string) => [
    ...['--import', 'tsx', '--input-type=module', '--eval'],
    `import { startCluster } from '@floodgate/test-redis';
     const cluster = await startCluster();
     ${then}
     console.log(cluster.nodes.map((node) => node.pid).join());`,
  ];
  const cwd = resolve(__dirname, '..');

  /** @param output what the program printed */
  function pidsOf(output: unknown): number[] {
    const pids = String(output).split(',').map(Number);
    expect(pids).toHaveLength(6);
    return pids;
  }

  async function endOf(pids: number[]): Promise<void> {
    while (pids.some(isRunning)) await setTimeout(10);
  }

  test('which is killed, having paused a node', async () => {
    const stays = program('cluster.nodes[0].pause(); setInterval(() => {}, 1000);');
    const parent = spawn(process.execPath, stays, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    const [output] = await once(parent.stdout, 'data');
    const pids = pidsOf(output);
    expect(pids.every(isRunning)).toBe(true);
    parent.kill('SIGKILL');
    await endOf(pids);
  });

  test('which forgets it', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, program(''), { cwd });
    await endOf(pidsOf(stdout));
  });
});
