import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import { run } from './run.ts';

/** A redis-server, or the like of it, that is known to run. */
export interface RedisProgram {
  readonly path: string;
  /** Has to be set when it runs. */
  readonly env: Readonly<Record<string, string>>;
  /** The program's own: Valkey's where it is Valkey. */
  readonly version: string;
}

/** The program at this path; undefined where it does not run here, or is older than Redis 6.2. */
export async function redisProgram(
  path: string,
  env: Readonly<Record<string, string>> = {},
): Promise<RedisProgram | undefined> {
  // `Redis server v=7.0.15 sha=…`, `Valkey server v=8.0.1 sha=…`
  const text = await run(path, ['--version'], env).catch(() => '');
  const [, version, major, minor] = /\bv=((\d+)\.(\d+)\S*)/.exec(text) ?? [];
  if (version === undefined) return undefined;
  const isRecent = Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2);
  return isRecent ? { path, env, version } : undefined;
}

/** Where a shell would find the command; undefined where it would not. */
export async function commandPath(name: string): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const path = resolve(folder, name);
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isProgram) return path;
  }
  return undefined;
}
