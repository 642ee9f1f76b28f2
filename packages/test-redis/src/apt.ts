import { mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { addToCache } from './cache-folder.ts';
import { commandPath, type RedisProgram } from './redis-program.ts';
import { run } from './run.ts';

const QUIET = ['-q', '-y', '--no-install-recommends'];

/**
 * Fetches the system's own packages of Redis, with what they need and the system has not, and unpacks them into the
 * folder. Nothing is installed, no service is started, and nobody has to be root.
 */
export async function unpackWithApt(folder: string): Promise<RedisProgram | undefined> {
  const apt = await commandPath('apt-get');
  const dpkg = await commandPath('dpkg-deb');
  if (apt === undefined || dpkg === undefined) return undefined;
  return addToCache(folder, async (tree, scratch) => {
    let packages: string;
    try {
      packages = await download(apt, scratch, []);
    } catch {
      // A container often comes without package lists, and those of a machine name versions that are gone by now.
      packages = await download(apt, scratch, await freshLists(apt, scratch));
    }
    for (const name of await readdir(packages)) {
      await run(dpkg, ['-x', join(packages, name), tree]);
    }
  });
}

/** @returns the folder of the packages */
async function download(apt: string, scratch: string, options: string[]): Promise<string> {
  // As root, apt-get would become a user who may not write to our folders.
  const all = [...QUIET, '-o', 'APT::Sandbox::User=root', ...options];
  const plan = await run(apt, [...all, '-s', 'install', 'redis-server'], { LC_ALL: 'C' });
  const names = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
  // The program itself is in the second, which may be installed already: then it would not be named.
  const needed = new Set(['redis-server', 'redis-tools', ...names]);
  // The C library is bound to the loader that the system has: a program must not get one without the other.
  for (const name of ['libc6', 'libc-bin']) needed.delete(name);
  const folder = await mkdtemp(join(scratch, 'packages-'));
  await run(apt, [...all, 'download', ...needed], {}, folder);
  return folder;
}

/** Fetches package lists of our own. @returns the options by which apt-get reads them */
async function freshLists(apt: string, scratch: string): Promise<string[]> {
  const [lists, cache] = [join(scratch, 'lists'), join(scratch, 'cache')];
  await mkdir(join(lists, 'partial'), { recursive: true });
  await mkdir(join(cache, 'archives/partial'), { recursive: true });
  const options = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${cache}`];
  // It also fails for a list that has nothing to do with Redis; the download says whether there are enough.
  await run(apt, ['-q', '-o', 'APT::Sandbox::User=root', ...options, 'update']).catch(() => {});
  return options;
}

/**
 * Installs the package that holds the program, as root, or where sudo does not ask for a password. The server is in
 * `redis-tools`, under another name; `redis-server` would add a service, and start it.
 */
export async function installWithApt(folder: string): Promise<RedisProgram | undefined> {
  const apt = await commandPath('apt-get');
  const sudo = process.getuid?.() === 0 ? undefined : await commandPath('sudo');
  if (apt === undefined || (sudo === undefined && process.getuid?.() !== 0)) return undefined;
  const asRoot = (...args: string[]) =>
    sudo === undefined
      ? run(apt, args, { DEBIAN_FRONTEND: 'noninteractive' })
      : run(sudo, ['-n', 'DEBIAN_FRONTEND=noninteractive', apt, ...args]);
  const install = () => asRoot(...QUIET, 'install', 'redis-tools');
  await install().catch(async () => {
    await asRoot('-q', 'update');
    await install();
  });
  return addToCache(folder, async (tree) => {
    await mkdir(join(tree, 'usr/bin'), { recursive: true });
    // It is a server unless it is called otherwise.
    await symlink('/usr/bin/redis-check-rdb', join(tree, 'usr/bin/redis-server'));
  });
}
