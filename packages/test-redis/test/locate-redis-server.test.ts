import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { unpackWithApt } from '../src/apt.ts';
import { locateRedisServer } from '../src/index.ts';
import { commandPath } from '../src/redis-program.ts';

const ADVICE = 'install Redis 6.2 or newer, or set REDIS_SERVER=/path/to/redis-server.\n';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'floodgate-locate-'));
});

afterEach(() => rm(folder, { recursive: true }));

/** What a process of its own finds, with a cache of its own. */
async function locate(env: Record<string, string>) {
  const main = resolve(__dirname, '../src/main.ts');
  const inherited = { ...process.env };
  delete inherited.REDIS_SERVER;
  const program = promisify(execFile)(process.execPath, ['--import', 'tsx', main], {
    env: { ...inherited, XDG_CACHE_HOME: folder, ...env },
  });
  return program.catch(({ stdout, stderr }) => ({ stdout: `${stdout}`, stderr: `${stderr}` }));
}

test('a server is found, and only once', async () => {
  const located = locateRedisServer();
  expect(locateRedisServer()).toBe(located);
  expect((await located).version).toMatch(/^\d+\.\d+\.\d+/);
});

test('where there is neither a server nor a package manager, one sentence says what to do', async () => {
  const { stdout, stderr } = await locate({ PATH: '' });
  expect(stdout).toBe('');
  expect(stderr).toBe(`There is no Redis server here, and none could be fetched: ${ADVICE}`);
});

test('a REDIS_SERVER that does not run is named', async () => {
  const { stdout, stderr } = await locate({ REDIS_SERVER: '/nonsense' });
  expect(stdout).toBe('');
  expect(stderr).toBe(`REDIS_SERVER=/nonsense does not run as a Redis server: ${ADVICE}`);
});

test.each([
  ['redis-server', 'Redis server v=6.2.0 sha=0:0', 'Redis 6.2.0'],
  ['valkey-server', 'Valkey server v=8.1.3 sha=0:0', 'Redis 8.1.3'],
  ['redis-server', 'Redis server v=6.0.16 sha=0:0', 'There is no'],
])('%s on the PATH that says %s', async (name, text, expected) => {
  await writeFile(join(folder, name), `#!/bin/sh\necho '${text}'\n`, { mode: 0o755 });
  const { stdout, stderr } = await locate({ PATH: folder });
  expect(stdout + stderr).toContain(expected);
  if (expected.startsWith('Redis')) expect(stdout).toContain(join(folder, name));
});

test('in set-up, Homebrew installs one', async () => {
  const server = join(folder, 'redis-server');
  const script = `#!/bin/sh
    printf '#!/bin/sh\necho Redis server v=8.0.0' >${server}
    /bin/chmod +x ${server}`;
  await writeFile(join(folder, 'brew'), script, { mode: 0o755 });
  expect((await locate({ PATH: folder })).stdout).toBe(`Redis 8.0.0: ${server}\n`);
});

test('where apt-get is, a server is unpacked into the cache, beside one that does not run', async () => {
  // Only what is not installed is fetched, and only Debian's and Ubuntu's packages.
  if ((await commandPath('apt-get')) === undefined || (await commandPath('redis-server'))) return;

  const cache = join(folder, 'floodgate/redis-server');
  await mkdir(join(cache, 'broken/usr/bin'), { recursive: true });
  await writeFile(join(cache, 'broken/usr/bin/redis-server'), 'no program', { mode: 0o755 });
  const programs = await Promise.all([unpackWithApt(cache), unpackWithApt(cache)]);
  const paths = programs.map((program) => program?.path);
  expect(paths).not.toContain(undefined);
  expect(await readdir(join(folder, 'floodgate'))).toEqual(['redis-server']);

  const { stdout, stderr } = await locate({ PATH: '' });
  expect(stderr).toBe('');
  expect(paths).toContain(stdout.trim().split(': ')[1]);
});
