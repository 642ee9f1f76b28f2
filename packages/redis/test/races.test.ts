import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Decision, toQuota } from '@floodgate/core';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisStore } from '../src/index.ts';

// Several processes at once never pass more than one of them would, and one that is killed leaves nothing behind.

const PROCESSES = 4;

let server: RedisServer;
let client: Redis;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'floodgate-races-'));
  await promisify(execFile)(
    join(__dirname, '../node_modules/.bin/tsdown'),
    ['--config', join(__dirname, 'children/tsdown.config.ts'), '--out-dir', folder],
    { cwd: join(__dirname, '..') },
  );
  server = await startRedis();
  client = new Redis(server.url);
  await client.ping();
});

beforeEach(() => client.flushdb());

afterAll(async () => {
  client.disconnect();
  await server.stop();
  await rm(folder, { recursive: true });
});

type Taker = ChildProcessByStdio<Writable, Readable, null>;

/** A process that is connected, and waits for a word, or has begun. */
async function startTaker(env: Record<string, string>, ...args: string[]): Promise<Taker> {
  const taker = spawn(process.execPath, [join(folder, 'taker.mjs'), ...args], {
    env: { ...process.env, REDIS_URL: server.url, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(taker.stdout, 'data');
  return taker;
}

/** When takes were admitted to each quota, by the decisions that processes got at the same time; in order. */
async function admittedTo(
  quotas: readonly string[],
  options: Record<string, string>,
): Promise<number[][]> {
  const env = { QUOTAS: quotas.join(', '), ...options };
  const takers = await Promise.all(Array.from({ length: PROCESSES }, () => startTaker(env)));
  const outputs = takers.map(({ stdin, stdout }) => {
    stdin.write('now');
    return text(stdout);
  });
  const admitted: number[][][] = (await Promise.all(outputs)).map((line) => JSON.parse(line));
  return quotas.map((_, i) => admitted.flatMap((of) => of[i] ?? []).sort((a, b) => a - b));
}

test('of 1,000 takes by four processes at once, a limit of 10 admits 10', async () => {
  const [admitted] = await admittedTo(['sliding-window-log 10/1h'], { TAKES: '250' });
  expect(admitted).toHaveLength(10);
});

test('four processes that take for two seconds pass 5 a second, as each algorithm counts them', async () => {
  const [byWindow, byLog, byBucket] = (await admittedTo(
    ['fixed-window 5/1s', 'sliding-window-log 5/1s', 'token-bucket 5 5/1s'],
    { FOR_MS: '2200' },
  )) as [number[], number[], number[]];

  const inWindows = new Map<number, number>();
  for (const atMs of byWindow) {
    const window = Math.floor(atMs / 1000);
    inWindows.set(window, (inWindows.get(window) ?? 0) + 1);
  }
  expect(Math.max(...inWindows.values())).toBe(5);
  expect(inWindows.size).toBeGreaterThanOrEqual(3);

  // The sixth from any on comes a second later.
  for (const [i, atMs] of byLog.slice(5).entries()) {
    expect(atMs - (byLog[i] as number)).toBeGreaterThanOrEqual(1000);
  }
  expect(byLog.length).toBeGreaterThanOrEqual(15);

  // One comes back each 200 ms.
  for (const [i, atMs] of byBucket.entries()) {
    const passedMs = atMs - (byBucket[0] as number);
    expect(i + 1).toBeLessThanOrEqual(5 + Math.floor(passedMs / 200));
  }
  expect(byBucket.length).toBeGreaterThanOrEqual(15);
});

test('of two callers at the last unit, one is admitted, whenever they come', async () => {
  const other = new Redis(server.url);
  await other.ping();
  const stores = [client, other].map((one) => new RedisStore({ client: one, timeout: '30s' }));
  const quotas = ['fixed-window 3/1h', 'sliding-window-log 3/1h', '3/1h', 'token-bucket 3 1/1h'];
  for (let i = 0; i < 400; i += 1) {
    const charge = { policy: 'policy', key: `${i}`, quota: toQuota(quotas[i % 4] as string) };
    await stores[0]?.take([{ ...charge, cost: 2 }]);
    const takes = stores.map((store) => store.take([{ ...charge, cost: 1 }]));
    const decisions = (await Promise.all(takes)).flat() as Decision[];
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(1);
  }
  other.disconnect();
});

test('processes that are killed at 200 points of their takes leave no key without an expiry', async () => {
  const QUOTAS = [
    'fixed-window 2/1h block=2h',
    'fixed-window 2/1h align=first-request',
    'sliding-window-log 2/1h',
    '2/1h block=1h',
    'token-bucket 2 1/1h',
    'leaky-bucket 2 1/1h block=1h',
  ].join(', ');
  // Each connection is at a point of its own when its process is killed.
  const [processes, CONNECTIONS] = [25, '8'];
  let started = 0;
  const killOneAfterAnother = async (): Promise<void> => {
    while (started < processes) {
      started += 1;
      // Nobody comes back to its keys, to put them right.
      const taker = await startTaker({ QUOTAS, CONNECTIONS, PREFIX: `${started}` }, 'endless');
      const gone = once(taker, 'exit');
      await setTimeout(randomInt(0, 20));
      taker.kill('SIGKILL');
      await gone;
    }
  };
  await Promise.all([killOneAfterAnother(), killOneAfterAnother()]);

  const keys = await client.keys('*');
  const connections = new Set(keys.map((key) => key.replace(/-.*/, '')));
  expect(connections.size).toBe(200);
  const left = await Promise.all(keys.map((key) => client.pttl(key)));
  expect(Math.min(...left)).toBeGreaterThan(0);
});
