import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '@floodgate/test-redis';
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
  const fromRegistry = [
    ...['express@5', '@types/express@5', 'fastify@5', '@fastify/rate-limit@11'],
    ...['koa@3', '@types/koa@3', '@koa/router@15', '@types/node@20'],
    ...['ioredis@6', 'redis@6'],
  ];
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

test.each([
  ['import', 'module', "import { Redis } from 'ioredis'; import { RedisStore } from"],
  ['require', 'commonjs', "const { Redis } = require('ioredis'); const { RedisStore } = require"],
])(
  'by %s, the store counts on a real Redis, with the scripts that it brings',
  async (_, type, loads) => {
    const redis = await startRedis();
    const program = `
    ${type === 'module' ? `${loads} '@floodgate/redis'` : `${loads}('@floodgate/redis')`};
    const client = new Redis('${redis.url}');
    const store = new RedisStore({ client, timeout: '10s' });
    const quota = { algorithm: 'fixed-window', limit: 5, windowMs: 3_600_000 };
    client.once('ready', async () => {
      const [{ allowed, remaining }] = await store.take([{ policy: 'a', key: 'k', quota, cost: 2 }]);
      console.log(JSON.stringify({ allowed, remaining }));
      client.disconnect();
    });
  `;
    try {
      const printed = run('node', [`--input-type=${type}`, '-e', program]);
      expect(JSON.parse(printed)).toEqual({ allowed: true, remaining: 3 });
    } finally {
      await redis.stop();
    }
  },
);

describe('a strict TypeScript program', () => {
  const core = `
    import { MemoryStore, RateLimiter, slidingWindowCounter } from '@floodgate/core';
    import { ManualClock } from '@floodgate/core/testing';
    import { HttpLimiter, limitUpgrade } from '@floodgate/http';
    import { createServer } from 'node:http';

    const quota = slidingWindowCounter({ limit: 100, window: '1m' });
    const store = new MemoryStore({ clock: new ManualClock() });
    const limiter = new RateLimiter({ store, policies: [{ name: 'per-minute', quota }] });
    export const allowed: boolean = limiter.take('user:42').allowed;
    export const http = new HttpLimiter({ quota });
    limitUpgrade(createServer(), { quota }).close();
    // @ts-expect-error a window is missing
    new HttpLimiter({ limit: 100 });
  `;
  const express = `
    import express = require('express');
    import { byUser, rateLimit } from '@floodgate/express';

    const app = express();
    const limit = rateLimit({ limit: 100, window: '1m', key: byUser((request) => request.get('x-user')) });
    app.get('/', limit, (request, response) => {
      const left: number | undefined = request.rateLimit?.tightest.remaining;
      response.json({ left });
    });
    // @ts-expect-error an option of other libraries
    rateLimit({ max: 100, window: '1m' });
  `;
  const fastify = `
    import Fastify from 'fastify';
    import { byUser, keys, rateLimit } from '@floodgate/fastify';

    const app = Fastify();
    app.register(rateLimit, { limit: 100, window: '1m', key: byUser((request) => request.headers.host) });
    app.get('/', { config: { rateLimit: { limit: 5, window: '1m' } } }, async (request) => {
      const left: number | undefined = request.rateLimit?.tightest.remaining;
      return { left };
    });
    app.get('/free', { config: { rateLimit: false } }, async () => 'free');
    // @ts-expect-error a hook that comes too late
    app.register(rateLimit, { limit: 100, window: '1m', hook: 'onSend' });
  `;
  const fastifyAlone = `${fastify}
    const hook = app.rateLimit({ limit: 5, window: '1m' });
    app.get('/hook', { preHandler: hook }, async () => '');
    void app.rateLimit.block(keys.ip('192.0.2.1'), '1h');
    void hook.reset(keys.ip('192.0.2.1'));
    // @ts-expect-error a limit that is a text
    app.get('/wrong', { config: { rateLimit: { limit: '5', window: '1m' } } }, async () => '');
  `;
  const besideAnother = `
    import type { AdditionalRateLimitOptions } from '@floodgate/fastify';
    declare module '@fastify/rate-limit' {
      interface RateLimitOptions extends AdditionalRateLimitOptions {}
    }
    // @ts-expect-error a limit that is a text
    app.get('/wrong', { config: { rateLimit: { limit: '5', window: '1m' } } }, async () => '');
  `;
  const koa = `
    import Router = require('@koa/router');
    import Koa = require('koa');
    import { byUser, rateLimit } from '@floodgate/koa';

    const app = new Koa();
    const router = new Router.Router();
    app.use(rateLimit({ limit: 100, window: '1m', key: byUser((context) => context.get('x-user')) }));
    router.get('/', rateLimit({ limit: 5, window: '1m' }), (context) => {
      const left: number | undefined = context.state.rateLimit?.tightest.remaining;
      context.body = { left };
    });
    app.use(router.routes());
    // @ts-expect-error a limit that is a text
    rateLimit({ limit: '5', window: '1m' });
  `;
  const redis = `
    import { RateLimiter } from '@floodgate/core';
    import { RedisStore } from '@floodgate/redis';
    import { Redis } from 'ioredis';
    import { createClient } from 'redis';

    const policies = [{ name: 'per-minute', quota: '100/1m' }];
    const store = new RedisStore({ client: new Redis() });
    const verdict = new RateLimiter({ store, policies }).take('user:42');
    export const allowed: Promise<boolean> = verdict.then(({ allowed }) => allowed);
    new RedisStore({ client: createClient(), prefix: 'mine', timeout: '50ms' });
    // @ts-expect-error the address of a server is no client
    new RedisStore({ client: 'redis://localhost:6379' });
  `;
  const strictly = ['--noEmit', '--types', 'node', '--strict', '--exactOptionalPropertyTypes'];

  // What one of them declares, all in its compilation see.
  const compilations: [string, readonly string[], readonly string[]][] = [
    ['core, express, fastify', [core, express, fastifyAlone], []],
    // The types of Koa itself do not fit those of a library that it uses.
    ['koa', [koa], ['--skipLibCheck']],
    ['redis', [redis], []],
    ['fastify before another plugin', [`import '@fastify/rate-limit';\n${fastify}`], []],
    ['fastify after another plugin', [`${fastify}\nimport '@fastify/rate-limit';`], []],
    ['fastify beside it', [`import '@fastify/rate-limit';\n${fastify}${besideAnother}`], []],
  ];

  describe.each([
    ['an ES module', 'mts'],
    ['a CommonJS module', 'cts'],
  ])('type-checks as %s', (_, extension) => {
    test.each(compilations)(
      '%s',
      (_, programs, options) => {
        const files = programs.map((program, i) => {
          const file = `program-${i}.${extension}`;
          write(file, program);
          return file;
        });
        const all = [...strictly, '--module', 'NodeNext', ...options, ...files];
        expect(run('node', [tsc, ...all])).toBe('');
      },
      oneMinuteMs,
    );
  });
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
