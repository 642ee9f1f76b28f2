import { dirname, join } from 'node:path';
import { installWithApt, unpackWithApt } from './apt.ts';
import { cachedProgram, cacheFolder } from './cache-folder.ts';
import { commandPath, type RedisProgram, redisProgram } from './redis-program.ts';
import { run } from './run.ts';

const ADVICE = 'install Redis 6.2 or newer, or set REDIS_SERVER=/path/to/redis-server';

let located: Promise<RedisProgram> | undefined;

/**
 * Finds a Redis server (or Valkey's), 6.2 or newer: `REDIS_SERVER`, else one on the PATH, else one that was unpacked
 * before into `${XDG_CACHE_HOME:-~/.cache}/floodgate/redis-server`, else one that apt-get fetches, to be unpacked there.
 *
 * Once per process; where there is none, every call rejects, in one sentence that says what to do.
 */
export function locateRedisServer(): Promise<RedisProgram> {
  located ??= locate([fromPath, fromCache, unpack]);
  return located;
}

/**
 * The same for the set-up, which also has the system's package manager install one, if it does so without asking. Tests
 * never do: many run at once, and none should change the system that it runs on.
 */
export function obtainRedisServer(): Promise<RedisProgram> {
  return locate([fromPath, fromCache, unpack, fromHomebrew, install]);
}

async function locate(ways: (() => Promise<RedisProgram | undefined>)[]): Promise<RedisProgram> {
  const { REDIS_SERVER } = process.env;
  if (REDIS_SERVER) {
    const named = await redisProgram(REDIS_SERVER);
    if (named !== undefined) return named;
    throw new Error(`REDIS_SERVER=${REDIS_SERVER} does not run as a Redis server: ${ADVICE}.`);
  }

  const reasons: unknown[] = [];
  for (const way of ways) {
    try {
      const program = await way();
      if (program !== undefined) return program;
    } catch (error) {
      reasons.push(error);
    }
  }
  const cause = new AggregateError(reasons);
  throw new Error(`There is no Redis server here, and none could be fetched: ${ADVICE}.`, {
    cause,
  });
}

async function fromPath(): Promise<RedisProgram | undefined> {
  for (const name of ['redis-server', 'valkey-server']) {
    const path = await commandPath(name);
    const program = path === undefined ? undefined : await redisProgram(path);
    if (program !== undefined) return program;
  }
  return undefined;
}

async function fromCache(): Promise<RedisProgram | undefined> {
  return cachedProgram(await cacheFolder());
}

async function unpack(): Promise<RedisProgram | undefined> {
  return unpackWithApt(await cacheFolder());
}

/** Homebrew starts no service unless it is asked to. */
async function fromHomebrew(): Promise<RedisProgram | undefined> {
  const brew = await commandPath('brew');
  if (brew === undefined) return undefined;
  await run(brew, ['install', '--quiet', 'redis'], { NONINTERACTIVE: '1' });
  return redisProgram(join(dirname(brew), 'redis-server'));
}

async function install(): Promise<RedisProgram | undefined> {
  return installWithApt(await cacheFolder());
}
