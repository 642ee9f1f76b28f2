import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's folder. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Installs what the lockfile names, with the pnpm that `packageManager` pins, and nothing globally:
 * Node.js and npm are all that has to be there.
 *
 * @returns the environment in which `pnpm` is that pnpm
 */
export function setUp() {
  const { engines, packageManager } = JSON.parse(
    readFileSync(resolve(root, 'package.json'), 'utf8'),
  );
  assertNodeVersion(engines.node.replace('>=', ''));

  const env = {
    ...process.env,
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    NODE_VERSION: process.version,
  };
  const npmExec = `exec --yes --prefer-offline --loglevel=error --package=${packageManager}`;
  const printPath = ['--call', 'node --print process.env.PATH'];
  env.PATH = execFileSync('npm', [...npmExec.split(' '), ...printPath], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
  // Standard input and output belong to whatever runs after the set-up.
  execFileSync('pnpm', ['install', '--frozen-lockfile'], {
    cwd: root,
    env,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  return env;
}

function assertNodeVersion(least) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [leastMajor, leastMinor] = least.split('.').map(Number);
  if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
    throw new Error(`Floodgate needs Node.js ${least} or later; this is ${process.versions.node}.`);
  }
}
