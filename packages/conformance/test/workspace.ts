import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The repository's folder. */
export const root: string = resolve(__dirname, '../../..');

/** A package of this repository that is published. */
export interface PublishedPackage {
  readonly name: string;
  readonly folder: string;
  /** What can be imported of it: its name, and `name/subpath` for each further entry point. */
  readonly entries: readonly string[];
}

/** Every package that is published, in alphabetical order. */
export const publishedPackages: readonly PublishedPackage[] = readdirSync(join(root, 'packages'))
  .sort()
  .flatMap((name) => {
    const folder = join(root, 'packages', name);
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    if (manifest.private) return [];
    const entries = Object.keys(manifest.exports)
      .filter((subpath) => subpath !== './package.json')
      .map((subpath) => manifest.name + subpath.slice(1));
    return [{ name: manifest.name, folder, entries }];
  });
