import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../workspace.ts';
import { anchorsOf } from './markdown.ts';

/** Every document of the repository, by its path there. */
export const documents: ReadonlyMap<string, string> = new Map(
  ['.', 'docs', ...foldersIn('packages'), ...foldersIn('examples')].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md')
      .map((file) => join(folder, file))
      .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
  ),
);

/**
 * Whether what a document links to is there: a file or folder of the repository, also by its address on GitHub, and
 * the heading in it. Other people's pages are theirs to keep.
 */
export function isThere(target: string, document: string): boolean {
  const [url = '', anchor] = target.split('#');
  const [isOurs, path = ''] =
    /^https:\/\/github\.com\/floodgate\/floodgate(?:\/\w+\/main\/(.+))?$/.exec(url) ?? [];
  if (!isOurs && /^https?:/.test(url)) return true;
  const linked = isOurs ? path : url === '' ? document : join(dirname(document), url);
  if (!existsSync(join(root, linked))) return false;
  // On GitHub and npm, `#readme` is the whole page.
  if (anchor === undefined || anchor === 'readme') return true;
  return anchorsOf(documents.get(linked) ?? '').includes(anchor);
}

/** Whether a line of shell asks for something that there is: a script of npm's and pnpm's is in a `package.json`. */
export function isCommand(line: readonly string[]): boolean {
  // Behind the variables that are set for it.
  const [program = '', ...words] = line.slice(line.findIndex((word) => !/^\w+=/.test(word)));
  if (program !== 'npm' && program !== 'pnpm') return OTHER_PROGRAMS.includes(program);
  const filter = words.indexOf('--filter');
  const of = filter < 0 ? undefined : words.splice(filter, 2)[1];
  const [verb = '', script = ''] = words.filter((word) => !word.startsWith('-'));
  if (verb === 'install' || verb === 'exec') return true;
  return (verb === 'run' ? script : verb) in scriptsOf(of);
}

const OTHER_PROGRAMS = ['curl', 'node', 'zcat'];

function foldersIn(folder: string): string[] {
  return readdirSync(join(root, folder)).map((name) => join(folder, name));
}

/** The scripts of a package, or of the whole repository. */
function scriptsOf(name: string | undefined): object {
  const folders = name === undefined ? ['.'] : [...foldersIn('packages'), ...foldersIn('examples')];
  const manifests = folders.map((folder) =>
    JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')),
  );
  return manifests.find((manifest) => name === undefined || manifest.name === name)?.scripts ?? {};
}
