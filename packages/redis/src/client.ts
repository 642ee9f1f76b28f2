import type { FloodgateError } from '@floodgate/core';
import { invalid } from '@floodgate/core/internal';
import type { Script } from './scripts.ts';

/** What is asked of an `ioredis` or `iovalkey` client. */
export interface IoredisClient {
  readonly status: string;
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** What is asked of a node-redis client. */
export interface NodeRedisClient {
  readonly isReady: boolean;
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** The same client with other types for its replies. */
  withTypeMapping(types: Record<never, never>): unknown;
}

/** What is asked of an `ioredis` or `iovalkey` client of a cluster. */
export interface IoredisCluster extends IoredisClient {
  readonly isCluster: true;
  /** Of each slot the addresses of its nodes, its master's first. */
  readonly slots: ReadonlyArray<readonly string[] | undefined>;
  nodes(role: 'master'): readonly IoredisClient[];
}

/** What is asked of a node-redis client of a cluster. */
export interface NodeRedisCluster extends Omit<NodeRedisClient, 'isReady'> {
  readonly isOpen: boolean;
  /** Of each slot its nodes. */
  readonly slots: ReadonlyArray<{ readonly master: NodeRedisMaster } | undefined>;
}

export interface NodeRedisMaster {
  readonly address: string;
  readonly client?: unknown;
}

/**
 * A client of `ioredis` 5 or 6, of `iovalkey`, or of node-redis (`redis`) 5 or 6, of one server or of a cluster: whatever
 * has these few methods.
 */
export type RedisClient = IoredisClient | NodeRedisClient | IoredisCluster | NodeRedisCluster;

/** A client, whichever library made it. */
export interface Connection {
  /**
   * - `'ready'`: what is sent now is on its way.
   * - `'lazy'`: it connects when something is sent.
   * - `'away'`: it is not connected, and would keep what is sent until it is.
   */
  state(): 'ready' | 'lazy' | 'away';
  run(script: Script, keys: string[], args: string[]): Promise<unknown>;
}

/** The only server of a client of one server; `undefined` for what is none. */
export function connectionOf(client: RedisClient): Connection | undefined {
  if (isIoredis(client)) {
    return {
      state: () => IOREDIS_STATES[client.status] ?? 'away',
      run: bySha(ioredisSends(client)),
    };
  }
  if (isNodeRedis(client)) {
    return {
      state: () => (client.isReady ? 'ready' : 'away'),
      run: bySha(nodeRedisSends(client)),
    };
  }
  return undefined;
}

/** The URL of a server, which somebody may take for a client, can hold one. */
function withoutPassword(client: unknown): unknown {
  return typeof client === 'string' ? client.replace(/\/\/.*@/, '//…@') : client;
}

export function invalidClient(client: unknown): FloodgateError {
  const expectation =
    'a client of `ioredis` or `iovalkey`, or of node-redis 5 or 6 (`createClient`, `createCluster`)';
  return invalid('FLOODGATE_INVALID_OPTION', 'client', expectation, withoutPassword(client));
}

export const IOREDIS_STATES: Readonly<Record<string, 'ready' | 'lazy'>> = {
  ready: 'ready',
  wait: 'lazy',
};

function isIoredis(client: unknown): client is IoredisClient {
  return looksLikeIoredis(client) && !isIoredisCluster(client);
}

export function isIoredisCluster(client: unknown): client is IoredisCluster {
  const it = client as Partial<IoredisCluster> | null;
  return (
    looksLikeIoredis(client) &&
    it?.isCluster === true &&
    Array.isArray(it.slots) &&
    typeof it.nodes === 'function'
  );
}

function looksLikeIoredis(client: unknown): boolean {
  const it = client as Partial<IoredisClient> | null;
  return (
    typeof it?.evalsha === 'function' &&
    typeof it.eval === 'function' &&
    typeof it.status === 'string'
  );
}

function isNodeRedis(client: unknown): client is NodeRedisClient {
  const it = client as Partial<NodeRedisClient & NodeRedisCluster> | null;
  return looksLikeNodeRedis(client) && typeof it?.isReady === 'boolean' && it.slots === undefined;
}

export function isNodeRedisCluster(client: unknown): client is NodeRedisCluster {
  const it = client as Partial<NodeRedisCluster> | null;
  return looksLikeNodeRedis(client) && typeof it?.isOpen === 'boolean' && Array.isArray(it.slots);
}

function looksLikeNodeRedis(client: unknown): boolean {
  const it = client as Partial<NodeRedisClient> | null;
  return (
    typeof it?.evalSha === 'function' &&
    typeof it.eval === 'function' &&
    typeof it.withTypeMapping === 'function'
  );
}

type Send = (text: string, keys: string[], args: string[]) => Promise<unknown>;

/** How a script is called, by its hash and by its text. */
export interface Sends {
  readonly sha: Send;
  readonly source: Send;
}

export function ioredisSends(client: IoredisClient): Sends {
  return {
    sha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
    source: (source, keys, args) => client.eval(source, keys.length, ...keys, ...args),
  };
}

export function nodeRedisSends(client: Omit<NodeRedisClient, 'isReady'>): Sends {
  // Whatever types its owner has chosen, such as buffers, texts are what we read.
  const texts = client.withTypeMapping({}) as NodeRedisClient;
  return {
    sha: (sha, keys, args) => texts.evalSha(sha, { keys, arguments: args }),
    source: (source, keys, args) => texts.eval(source, { keys, arguments: args }),
  };
}

/**
 * Calls a script by its hash, once its text was sent; a connection keeps their order. A server that was restarted, or told
 * to flush its scripts, is sent the text again by the first call that finds out; others that come to know it meanwhile wait
 * for that, and call again: a thousand calls that were under way do not send the text a thousand times.
 */
export function bySha({ sha: sendSha, source: sendSource }: Sends): Connection['run'] {
  const sent = new Set<Script>();
  const sending = new Map<Script, Promise<unknown>>();

  function sendText(script: Script, keys: string[], args: string[]): Promise<unknown> {
    const reply = sendSource(script.source, keys, args);
    sent.add(script);
    sending.set(script, reply);
    const forget = (): void => {
      if (sending.get(script) === reply) sending.delete(script);
    };
    reply.then(forget, forget);
    return reply;
  }

  return async (script, keys, args) => {
    if (!sent.has(script)) return sendText(script, keys, args);
    try {
      return await sendSha(script.sha, keys, args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
    }
    const other = sending.get(script);
    if (other === undefined) return sendText(script, keys, args);
    await other.catch(() => {});
    try {
      return await sendSha(script.sha, keys, args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return sendText(script, keys, args);
    }
  };
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
