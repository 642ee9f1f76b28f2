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

/** A client of `ioredis` 5 or 6, of `iovalkey`, or of node-redis (`redis`) 5 or 6: whatever has these few methods. */
export type RedisClient = IoredisClient | NodeRedisClient;

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

/** @throws FloodgateError `FLOODGATE_INVALID_OPTION` for what is no such client */
export function connectionOf(client: RedisClient): Connection {
  if (isIoredis(client)) {
    return {
      state: () => IOREDIS_STATES[client.status] ?? 'away',
      run: bySha(
        (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
        (source, keys, args) => client.eval(source, keys.length, ...keys, ...args),
      ),
    };
  }
  if (isNodeRedis(client)) {
    // Whatever types its owner has chosen, such as buffers, texts are what we read.
    const texts = client.withTypeMapping({}) as NodeRedisClient;
    return {
      state: () => (client.isReady ? 'ready' : 'away'),
      run: bySha(
        (sha, keys, args) => texts.evalSha(sha, { keys, arguments: args }),
        (source, keys, args) => texts.eval(source, { keys, arguments: args }),
      ),
    };
  }
  throw invalid(
    'FLOODGATE_INVALID_OPTION',
    'client',
    'a client of `ioredis` or `iovalkey`, or of node-redis 5 or 6 (`createClient`), for one server (a cluster cannot be used yet)',
    withoutPassword(client),
  );
}

/** The URL of a server, which somebody may take for a client, can hold one. */
function withoutPassword(client: unknown): unknown {
  return typeof client === 'string' ? client.replace(/\/\/.*@/, '//…@') : client;
}

const IOREDIS_STATES: Readonly<Record<string, 'ready' | 'lazy'>> = { ready: 'ready', wait: 'lazy' };

function isIoredis(client: unknown): client is IoredisClient {
  const it = client as Partial<IoredisClient & { isCluster: boolean }> | null;
  return (
    typeof it?.evalsha === 'function' &&
    typeof it.eval === 'function' &&
    typeof it.status === 'string' &&
    it.isCluster !== true
  );
}

function isNodeRedis(client: unknown): client is NodeRedisClient {
  const it = client as Partial<NodeRedisClient & { slots: unknown }> | null;
  return (
    typeof it?.evalSha === 'function' &&
    typeof it.eval === 'function' &&
    typeof it.withTypeMapping === 'function' &&
    typeof it.isReady === 'boolean' &&
    // A cluster's.
    it.slots === undefined
  );
}

type Send = (text: string, keys: string[], args: string[]) => Promise<unknown>;

/**
 * Calls a script by its hash. A server that was restarted, or told to flush its scripts, is sent the text by the first
 * call that finds out; others that come to know it meanwhile wait for that, and call again: a thousand calls that were
 * under way do not send the text a thousand times.
 */
function bySha(sendSha: Send, sendSource: Send): Connection['run'] {
  const sending = new Map<Script, Promise<unknown>>();

  function sendText(script: Script, keys: string[], args: string[]): Promise<unknown> {
    const sent = sendSource(script.source, keys, args);
    sending.set(script, sent);
    const forget = (): void => {
      if (sending.get(script) === sent) sending.delete(script);
    };
    sent.then(forget, forget);
    return sent;
  }

  return async (script, keys, args) => {
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
