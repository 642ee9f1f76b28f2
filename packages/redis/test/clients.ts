import { type EventEmitter, once } from 'node:events';
import { type Charge, type Decision, toQuota } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import type { RedisCluster, RedisServer } from '@floodgate/test-redis';
import { Redis as Ioredis6, type RedisOptions as Ioredis6Options } from 'ioredis';
import { Redis as Ioredis5, type RedisOptions as Ioredis5Options } from 'ioredis5';
import { Redis as Iovalkey, type RedisOptions as IovalkeyOptions } from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { type RedisClient, RedisStore } from '../src/index.ts';

/** A client that is connected. */
export interface OpenClient {
  readonly client: RedisClient & EventEmitter;
  close(): void;
}

/** A library, and how its client is set up. */
export interface ClientKind {
  readonly name: string;
  /** What the client itself puts before each key. */
  readonly keyPrefix: string;
  open(server: RedisServer, user?: User): Promise<OpenClient>;
}

interface User {
  readonly username: string;
  readonly password: string;
}

type ExactIoredis6Options = Omit<Ioredis6Options, 'replyMapping'> & { replyMapping?: 'resp3' };

export function ioredis6(name: string, options: ExactIoredis6Options = {}): ClientKind {
  return ioredisKind(`ioredis 6${name}`, options, (all) => new Ioredis6(all));
}

export function ioredis5(name: string, options: Ioredis5Options = {}): ClientKind {
  return ioredisKind(`ioredis 5${name}`, options, (all) => new Ioredis5(all));
}

export function iovalkey(name: string, options: IovalkeyOptions = {}): ClientKind {
  return ioredisKind(`iovalkey${name}`, options, (all) => new Iovalkey(all));
}

type NodeRedis6Options = Omit<redis6.RedisClientOptions, 'RESP'> & { RESP?: 2 | 3 };

export function nodeRedis6(name: string, options: NodeRedis6Options = {}): ClientKind {
  const create = (all: object) => redis6.createClient({ ...options, ...all });
  return nodeRedisKind(`node-redis 6${name}`, String(options.keyPrefix ?? ''), create);
}

function nodeRedis5(name: string, options: redis5.RedisClientOptions = {}): ClientKind {
  return nodeRedisKind(`node-redis 5${name}`, '', (all) =>
    redis5.createClient({ ...options, ...all }),
  );
}

/** One of each library. */
export const LIBRARIES: readonly ClientKind[] = [
  ioredis6(''),
  ioredis5(''),
  iovalkey(''),
  nodeRedis6(''),
  nodeRedis5(''),
];

const keyPrefix = 'app:';
const enableAutoPipelining = true;
const commandOptions = { typeMapping: { [redis6.RESP_TYPES.BLOB_STRING]: Buffer } };

/** Each library, set up in each way that changes what it sends, or how it hands over what is replied. */
export const CLIENT_KINDS: readonly ClientKind[] = [
  ...LIBRARIES,
  ...[ioredis6, ioredis5, iovalkey].flatMap((kind) => [
    kind(', keyPrefix', { keyPrefix }),
    kind(', auto-pipelining', { enableAutoPipelining }),
    kind(', keyPrefix, auto-pipelining', { keyPrefix, enableAutoPipelining }),
    kind(', numbers as strings', { stringNumbers: true }),
  ]),
  ioredis6(', RESP2', { protocol: 2 }),
  ioredis6(', RESP3 replies', { protocol: 3, replyMapping: 'resp3' }),
  nodeRedis6(', keyPrefix', { keyPrefix }),
  ...[nodeRedis6, nodeRedis5].flatMap((kind) => [
    kind(', RESP2', { RESP: 2 }),
    kind(', RESP3', { RESP: 3 }),
    kind(', buffers', { commandOptions }),
  ]),
];

/** A library, and how its client of a cluster is set up. */
export interface ClusterKind {
  readonly name: string;
  open(cluster: RedisCluster): Promise<OpenClient>;
}

interface IoredisClusterLike extends EventEmitter {
  disconnect(): void;
}

function ioredisCluster(
  name: string,
  create: (seeds: { host: string; port: number }[]) => IoredisClusterLike & RedisClient,
): ClusterKind {
  async function open({ seeds }: RedisCluster): Promise<OpenClient> {
    const client = create([...seeds]);
    client.on('error', () => {});
    await once(client, 'ready');
    return { client, close: () => client.disconnect() };
  }
  return { name, open };
}

function nodeRedisCluster(
  name: string,
  create: (options: { rootNodes: { url: string }[] }) => NodeRedisLike & RedisClient,
): ClusterKind {
  async function open({ nodes }: RedisCluster): Promise<OpenClient> {
    const client = create({ rootNodes: nodes.map(({ url }) => ({ url })) });
    client.on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  }
  return { name, open };
}

/** One of each library, of a cluster. */
export const CLUSTER_LIBRARIES: readonly ClusterKind[] = [
  ioredisCluster('ioredis 6', (seeds) => new Ioredis6.Cluster(seeds)),
  ioredisCluster('ioredis 5', (seeds) => new Ioredis5.Cluster(seeds)),
  ioredisCluster('iovalkey', (seeds) => new Iovalkey.Cluster(seeds)),
  nodeRedisCluster('node-redis 6', (options) => redis6.createCluster(options)),
  nodeRedisCluster('node-redis 5', (options) => redis5.createCluster(options)),
];

interface IoredisLike extends EventEmitter {
  disconnect(): void;
}

function ioredisKind<Options extends { keyPrefix?: string | undefined }>(
  name: string,
  options: Options,
  create: (options: Options) => IoredisLike & RedisClient,
): ClientKind {
  async function open({ host, port }: RedisServer, user?: User): Promise<OpenClient> {
    // A client of a server that is gone would wait two seconds for its socket to close.
    const client = create({ ...options, host, port, ...user, disconnectTimeout: 1 });
    // Losing the connection is what some tests are about.
    client.on('error', () => {});
    await once(client, 'ready');
    return { client, close: () => client.disconnect() };
  }
  return { name, keyPrefix: options.keyPrefix ?? '', open };
}

interface NodeRedisLike extends EventEmitter {
  connect(): Promise<unknown>;
  destroy(): void;
}

function nodeRedisKind(
  name: string,
  keyPrefix: string,
  create: (options: object) => NodeRedisLike & RedisClient,
): ClientKind {
  async function open({ url }: RedisServer, user?: User): Promise<OpenClient> {
    const client = create({ url, ...user });
    client.on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  }
  return { name, keyPrefix, open };
}

/** One charge by each algorithm, of which half block when they deny. */
function chargeEach(cost: number): Charge[] {
  return [
    'fixed-window 50/1m block=1s',
    'fixed-window 50/1m align=first-request',
    'sliding-window-log 50/1m block=1s',
    'sliding-window-counter 50/1m',
    'token-bucket 50 1/1m block=1s',
    'leaky-bucket 50 1/1m',
  ].map((quota, i) => ({ policy: `p${i}`, key: 'k', quota: toQuota(quota), cost }));
}

/**
 * Does all that a store ever does, so that the server runs each command of each script.
 *
 * @param older a client that may do anything: what it counts is an hour old when `client` comes
 */
export async function useEverything(
  server: RedisServer,
  client: RedisClient,
  older: RedisClient,
  time: 'server' | 'given',
): Promise<void> {
  const [seconds] = (await server.command('TIME')) as string[];
  const nowMs = Number(seconds) * 1_000;
  const clock = time === 'server' ? 'server' : new ManualClock(nowMs + 1_000);
  const store = new RedisStore({ client, clock, timeout: '20s' });
  for (const blockMs of [5_000, 0]) {
    for (const mode of ['take', 'peek', 'force', 'take'] as const) {
      await store.take(chargeEach(mode === 'force' ? 60 : 1), { mode });
    }
    const decisions = await store.take(chargeEach(0));
    const atMs = (decisions[0] as Decision).atMs;
    await store.refund(chargeEach(2).map((charge) => ({ ...charge, atMs })));
    await store.block(chargeEach(1), blockMs);
  }
  await store.reset(chargeEach(1));

  // A log of which half has left is copied, once that is long enough.
  const charge = { policy: 'log', key: 'k', quota: toQuota('sliding-window-log 99/1h'), cost: 1 };
  const past = new ManualClock(nowMs - 3_600_000);
  const olderStore = new RedisStore({ client: older, clock: past, timeout: '20s' });
  for (let i = 0; i < 40; i += 1) await olderStore.take([charge]);
  await store.take([charge]);
  await store.reset([charge]);
}
