import { constants } from 'node:fs';
import { access, lstat, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type RedisProgram, redisProgram } from './redis-program.ts';

/** The folder, which may not exist yet, of unpacked Redis servers. The folder that it is in exists, and is ours. */
export async function cacheFolder(): Promise<string> {
  try {
    const parent = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'floodgate');
    await mkdir(parent, { recursive: true });
    await access(parent, constants.W_OK);
    return join(parent, 'redis-server');
  } catch {
    const parent = join(tmpdir(), `floodgate-${process.getuid?.()}`);
    await mkdir(parent, { recursive: true, mode: 0o700 });
    // Anyone may have put a folder of this name, and a program, where everyone may write.
    const { uid } = await lstat(parent);
    if (uid !== process.getuid?.()) throw new Error(`Expected ${parent} to be ours`);
    return join(parent, 'redis-server');
  }
}

/** A server that was unpacked before; undefined where there is none, or none that runs here. */
export async function cachedProgram(folder: string): Promise<RedisProgram | undefined> {
  for (const name of await readdir(folder).catch((): string[] => [])) {
    const program = await unpackedProgram(join(folder, name));
    if (program !== undefined) return program;
  }
  return undefined;
}

async function unpackedProgram(folder: string): Promise<RedisProgram | undefined> {
  const libraries: string[] = [];
  for (const parent of [join(folder, 'usr/lib'), join(folder, 'lib')]) {
    const names = await readdir(parent).catch((): string[] => []);
    libraries.push(...names.filter((n) => n.includes('-linux-gnu')).map((n) => join(parent, n)));
  }
  return redisProgram(join(folder, 'usr/bin/redis-server'), {
    LD_LIBRARY_PATH: [...libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
  });
}

/**
 * Adds a server to the folder, all of it at once. Each has a name of its own and none is ever replaced, so that nothing
 * goes wrong where several processes do this at the same time, or run what another one added.
 *
 * @param fill puts a server into an empty folder; another folder beside it is there for what is not kept
 */
export async function addToCache(
  folder: string,
  fill: (tree: string, scratch: string) => Promise<void>,
): Promise<RedisProgram | undefined> {
  // Only within a file system can a folder be renamed.
  const work = await mkdtemp(join(dirname(folder), 'redis-server-'));
  try {
    const [tree, scratch] = [join(work, 'tree'), join(work, 'scratch')];
    await mkdir(tree);
    await mkdir(scratch);
    await fill(tree, scratch);
    if ((await unpackedProgram(tree)) === undefined) return undefined;
    const theirs = await cachedProgram(folder);
    if (theirs !== undefined) return theirs;
    await mkdir(folder, { recursive: true });
    const place = join(folder, basename(work));
    await rename(tree, place);
    return await unpackedProgram(place);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
