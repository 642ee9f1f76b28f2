import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A version of Node.js to run apps on. */
export interface NodeVersion {
  readonly major: number;
  /** Its program; undefined where it is not installed for this platform. */
  readonly binary: string | undefined;
}

const own = Number.parseInt(process.versions.node, 10);

/** The supported versions, and that of this very process, which is always there. */
export const nodeVersions: readonly NodeVersion[] = [...new Set([20, 22, 24, own])].map(
  (major) => ({ major, binary: major === own ? process.execPath : installed(major) }),
);

function installed(major: number): string | undefined {
  const name = `node${major}-${process.platform}-${process.arch}`;
  const binary = join(__dirname, '../../node_modules', name, 'bin/node');
  return existsSync(binary) ? binary : undefined;
}
