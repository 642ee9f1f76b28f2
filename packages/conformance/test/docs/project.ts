import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from '../workspace.ts';
import type { Sample } from './sample.ts';

/** What a reader has installed. */
const installed = {
  '@floodgate/core': require.resolve('@floodgate/core/package.json'),
  '@floodgate/express': require.resolve('@floodgate/express/package.json'),
  '@floodgate/fastify': require.resolve('@floodgate/fastify/package.json'),
  '@floodgate/http': require.resolve('@floodgate/http/package.json'),
  '@floodgate/koa': require.resolve('@floodgate/koa/package.json'),
  '@floodgate/redis': require.resolve('@floodgate/redis/package.json'),
  '@koa/router': join(require.resolve('@koa/router'), '../../package.json'),
  '@opentelemetry/api': join(require.resolve('@opentelemetry/api'), '../../package.json'),
  '@types/express': require.resolve('@types/express/package.json'),
  '@types/koa': require.resolve('@types/koa/package.json'),
  '@types/node': require.resolve('@types/node/package.json'),
  express: require.resolve('express/package.json'),
  fastify: require.resolve('fastify/package.json'),
  ioredis: require.resolve('ioredis/package.json'),
  iovalkey: require.resolve('iovalkey/package.json'),
  koa: require.resolve('koa/package.json'),
  'prom-client': join(require.resolve('prom-client'), '../package.json'),
  redis: require.resolve('redis/package.json'),
} as const;

const tsconfig = {
  extends: join(root, 'tsconfig.base.json'),
  // Samples are programs, which nobody imports.
  compilerOptions: { checkJs: true, declaration: false, isolatedDeclarations: false },
  include: ['*.ts', '*.mjs'],
};

/** Makes a reader's project, in which each sample is a file; answers its folder. */
export function makeProject(samples: readonly Sample[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'floodgate-samples-'));
  for (const [name, manifest] of Object.entries(installed)) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(dirname(manifest), link, 'junction');
  }
  const files = [
    ...samples,
    { file: 'package.json', source: JSON.stringify({ private: true, type: 'module' }) },
    { file: 'tsconfig.json', source: JSON.stringify(tsconfig) },
  ];
  for (const { file, source } of files) writeFileSync(join(folder, file), source);
  return folder;
}
