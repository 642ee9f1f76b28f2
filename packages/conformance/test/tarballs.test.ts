import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { publishedPackages, root } from './workspace.ts';

// The packages as their users get them: packed, installed by npm, and neither jest, swc nor the
// workspace's links between them and Node.js.

const entries = publishedPackages.flatMap((published) => published.entries);
const tsc = join(root, 'packages/conformance/node_modules/typescript/bin/tsc');
const oneMinuteMs = 60_000;
let consumer: string;

beforeAll(() => {
  consumer = mkdtempSync(join(tmpdir(), 'floodgate-consumer-'));
  for (const { name, folder } of publishedPackages) {
    if (!existsSync(join(folder, 'dist'))) throw new Error(`${name} is not built: run turbo`);
    // Without scripts, or each would be built again under the feet of other tasks.
    const destination = ['--pack-destination', consumer];
    run('pnpm', ['pack', '--config.ignore-scripts=true', ...destination], folder);
  }
  const tarballs = readdirSync(consumer).map((file) => `./${file}`);
  write('package.json', JSON.stringify({ private: true }));
  const fromRegistry = ['express@5', '@types/express@5', '@types/node@20'];
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--no-update-notifier'];
  run('npm', ['install', ...quietly, ...tarballs, ...fromRegistry]);
}, 2 * oneMinuteMs);

afterAll(() => rmSync(consumer, { recursive: true, force: true }));

test.each(entries)('import and require of %s give the same names', (entry) => {
  const names = (module: string) => `console.log(JSON.stringify(Object.keys(${module}).sort()))`;
  const imported = run('node', ['--input-type=module', '-e', names(`await import('${entry}')`)]);
  const required = run('node', ['--input-type=commonjs', '-e', names(`require('${entry}')`)]);
  expect(JSON.parse(imported)).not.toEqual([]);
  expect(JSON.parse(required)).toEqual(JSON.parse(imported));
});

describe('a strict TypeScript program', () => {
  const program = `
    import express = require('express');
    import { MemoryStore, RateLimiter, slidingWindowCounter } from '@floodgate/core';
    import { ManualClock } from '@floodgate/core/testing';
    import { rateLimit } from '@floodgate/express';
    import { HttpLimiter } from '@floodgate/http';

    const quota = slidingWindowCounter({ limit: 100, window: '1m' });
    const store = new MemoryStore({ clock: new ManualClock() });
    const limiter = new RateLimiter({ store, policies: [{ name: 'per-minute', quota }] });
    export const allowed: boolean = limiter.take('user:42').allowed;
    export const app: express.Express = express().use(rateLimit({ limit: 100, window: '1m' }));
    export const http = new HttpLimiter({ quota });
  `;

  test.each([
    ['an ES module', 'program.mts'],
    ['a CommonJS module', 'program.cts'],
  ])(
    'type-checks as %s',
    (_, file) => {
      write(file, program);
      const options = ['--strict', '--exactOptionalPropertyTypes', '--module', 'NodeNext'];
      expect(run('node', [tsc, '--noEmit', '--types', 'node', ...options, file])).toBe('');
    },
    oneMinuteMs,
  );
});

function write(file: string, text: string): void {
  writeFileSync(join(consumer, file), text);
}

/** What a command prints, run in the consumer's folder. A failure's error has the output too. */
function run(command: string, args: readonly string[], cwd: string = consumer): string {
  try {
    return execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (cause) {
    const { stdout, stderr } = cause as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause });
  }
}
