import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { publishedPackages, root } from './workspace.ts';

/** Every source file of the published packages, by its path in the repository, without comments. */
const sources: ReadonlyMap<string, string> = new Map(
  publishedPackages.flatMap(({ folder }) =>
    readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, 'src', file))
      .map((path) => [relative(root, path), withoutComments(readFileSync(path, 'utf8'))]),
  ),
);

test('there are sources to scan', () => {
  expect(sources.size).toBeGreaterThan(0);
});

test.each([
  {
    convention: 'time comes from a clock',
    forbidden: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bhrtime\b/,
    except: ['packages/core/src/clock.ts'],
  },
  { convention: 'nothing is written to the console', forbidden: /\bconsole\./ },
  {
    convention: 'every export has a name',
    forbidden: /\bexport default\b|\bas default\b|\bexport \*/,
    // The type of what a loader makes of a script.
    except: ['packages/redis/src/lua.d.ts'],
  },
  {
    convention: 'core runs wherever JavaScript does',
    within: 'packages/core/',
    forbidden: /['"]node:|\bBuffer\b|\brequire\(/,
  },
])('$convention', ({ forbidden, within = '', except = [] }) => {
  const offenders = [...sources]
    .filter(([path]) => path.startsWith(within) && !except.includes(path))
    .filter(([, source]) => forbidden.test(source))
    .map(([path]) => path);
  expect(offenders).toEqual([]);
});

/** Examples in comments may do what sources may not. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
}
