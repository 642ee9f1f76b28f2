import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

/** Runs a program of `children/` to its end; rejects where that is not a good one. */
function runChild(file: string) {
  const hooks = [resolve(__dirname, '../../../scripts/lua.mjs'), require.resolve('tsx')];
  const imports = hooks.map((hook) => `--import=${pathToFileURL(hook)}`);
  const flags = ['--conditions=@floodgate/source', ...imports];
  return promisify(execFile)(process.execPath, [...flags, join(__dirname, 'children', file)], {
    cwd: join(__dirname, '..'),
  });
}

test('a limiter on a Redis that is not there rejects nothing in the background, and decides by its rules', async () => {
  const { stdout, stderr } = await runChild('closed-port.ts');
  const ofEach = [
    ...['degraded', 'local true true', 'local false true'],
    ...['allow true true', 'allow true true', 'deny false true'],
  ];
  expect(stdout.trim().split('\n')).toEqual([...ofEach, ...ofEach]);
  expect(stderr).toBe('');
});
