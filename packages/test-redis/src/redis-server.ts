import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { locateRedisServer } from './locate-redis-server.ts';
import { type RedisProcess, spawnRedis } from './redis-process.ts';
import type { RedisProgram } from './redis-program.ts';
import { send } from './resp.ts';

/** How to start a server. */
export interface RedisOptions {
  /** Added to its command line. For users there is `users`: it cannot have an `--aclfile` as well. @default none */
  readonly args?: readonly string[];
  /** Lines as in an ACL file: `user NAME on >password ~keys +commands`. @default none but the default user, who may all */
  readonly users?: readonly string[];
  /** Whether it is a node that may join a cluster: `startCluster` starts such, and joins them. @default false */
  readonly cluster?: boolean;
}

const HOST = '127.0.0.1';
/** Nodes of a cluster talk with each other on a port that is so far above their own. */
const BUS_OFFSET = 10_000;
const START_MS = 30_000;

/**
 * Starts a Redis server on a free port of 127.0.0.1, which keeps nothing and ends when this process does, at the
 * latest.
 *
 * @example
 * const redis = await startRedis();
 * await redis.command('SET', 'key', 'value');
 * await redis.restart();
 * await redis.command('GET', 'key'); // null
 * await redis.stop();
 */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const program = await locateRedisServer();
  const folder = await mkdtemp(join(tmpdir(), 'floodgate-redis-'));
  try {
    for (;;) {
      const port = await freePort(HOST, options.cluster ? BUS_OFFSET : 0);
      const server = new RedisServer(program, folder, port, options);
      if (await server.start()) return server;
    }
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** A Redis server of one's own, to treat as badly as a test needs. */
export class RedisServer {
  readonly host: string = HOST;
  readonly port: number;
  /** `redis://127.0.0.1:PORT`, without a user. */
  readonly url: string;

  readonly #program: RedisProgram;
  readonly #folder: string;
  readonly #args: readonly string[];
  /** Of a user of our own, who may do anything, whatever the others may. */
  readonly #login: readonly string[];
  #process: RedisProcess | undefined;
  #isPaused = false;
  #version = '';

  /** @internal `startRedis` makes them. */
  constructor(program: RedisProgram, folder: string, port: number, options: RedisOptions) {
    const { args = [], users = [], cluster = false } = options;
    const [name, password] = ['floodgate-test-redis', randomBytes(16).toString('hex')];
    const lines = [...users, `user ${name} on >${password} ~* &* +@all`];
    const basics = `--bind ${HOST} --port ${port} --dir ${folder} --daemonize no --appendonly no`;
    this.port = port;
    this.url = `redis://${HOST}:${port}`;
    this.#program = program;
    this.#folder = folder;
    this.#login = ['AUTH', name, password];
    this.#args = [
      ...basics.split(' '),
      ...['--save', ''],
      // The address would be learned from others only; until then, clients would be told none.
      ...(cluster ? ['--cluster-enabled', 'yes', '--cluster-announce-ip', HOST] : []),
      ...lines.flatMap((line) => `--${line.trim()}`.split(/\s+/)),
      ...args,
    ];
  }

  /** The process that runs now, or ran last. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Whether it runs and is not paused. */
  get isAnswering(): boolean {
    return this.#process?.gone.aborted === false && !this.#isPaused;
  }

  /** Redis's, such as '7.0.15'. Valkey says here which Redis it is compatible with. */
  get version(): string {
    return this.#version;
  }

  /**
   * Sends one command, on a connection of its own, as a user who may do anything.
   *
   * @returns the reply as RESP2 has it: string, number, null, array. Rejects where it is an error.
   */
  command(...args: string[]): Promise<unknown> {
    return send({ host: HOST, port: this.port, commands: [this.#login, args] });
  }

  /** Stops it for good, and removes its folder. */
  async stop(): Promise<void> {
    await this.crash();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Kills it, even where it is paused, and waits until it is gone. `restart` brings it back. */
  async crash(): Promise<void> {
    await this.#process?.kill();
  }

  /** Starts it again on the same port, empty, having killed it if it still ran. */
  async restart(): Promise<void> {
    await this.crash();
    if (!(await this.start())) throw new Error(`Port ${this.port} was taken by somebody else`);
  }

  /** It keeps its connections, and answers nothing. */
  pause(): void {
    this.#isPaused = true;
    this.#process?.signal('SIGSTOP');
  }

  /** It answers again, also what it was asked while it was paused. */
  resume(): void {
    this.#process?.signal('SIGCONT');
    this.#isPaused = false;
  }

  /** @internal @returns whether it runs: false where its port, or the one of its bus, was taken */
  async start(): Promise<boolean> {
    const started = await spawnRedis(this.#program, this.#args, this.#folder);
    this.#process = started;
    this.#isPaused = false;
    const lateness = setTimeout(() => started.signal('SIGKILL'), START_MS);
    while (!started.gone.aborted) {
      try {
        // No other server that may have the port knows the password: an answer is the answer of this one.
        const commands = [this.#login, ['PING'], ['INFO', 'server']];
        const info = await send({ host: HOST, port: this.port, commands, signal: started.gone });
        this.#version = /^redis_version:(\S+)/m.exec(String(info))?.[1] ?? '';
        clearTimeout(lateness);
        return true;
      } catch {
        await sleep(10);
      }
    }
    clearTimeout(lateness);
    const output = await readFile(join(this.#folder, 'log'), 'utf8');
    if (output.includes('Address already in use')) return false;
    throw new Error(`Expected ${this.#program.path} to start, got:\n${output}`);
  }
}
