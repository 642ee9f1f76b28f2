import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import ts from 'typescript';

// What users' programs are told by the compiler, with our types from the sources and as they are published, alone and
// in a program that has those of `@fastify/rate-limit`, which declare members of the same names.

const home = resolve(__dirname, '..');
const built = mkdtempSync(join(home, 'node_modules/.built-'));

beforeAll(async () => {
  const tsdown = join(dirname(require.resolve('tsdown/package.json')), 'dist/run.mjs');
  await promisify(execFile)(process.execPath, [tsdown, '--out-dir', built], { cwd: home });
}, 180_000);
afterAll(() => rmSync(built, { recursive: true, force: true }));

const start = `
  import fastify, { type FastifyRequest } from 'fastify';
  import { keys, rateLimit, rateLimitHook, type Verdict } from '@floodgate/fastify';
  const app = fastify();
  await_(app.register(rateLimit, { limit: 100, window: '1m' }));
  declare function await_(promise: unknown): void;
`;

/** What holds in every program. */
const always = `
  app.get('/a', { config: { rateLimit: { limit: 5, window: '1m' } } }, () => 1);
  app.get('/b', { config: { rateLimit: { quota: '5/1m', replace: true } } }, () => 1);
  app.get('/c', { config: { rateLimit: false } }, ({ rateLimit }) => rateLimit?.retryAfterMs);
  app.get('/d', { onRequest: rateLimitHook({ quota: '5/1m' }) }, () => 1);
  app.route({ method: 'GET', url: '/e', config: { rateLimit: { quota: '5/1m' } }, handler: () => 1 });
  export const verdictOf = ({ rateLimit }: FastifyRequest): Verdict | undefined => rateLimit;
  // @ts-expect-error not a verdict
  export const numberOf = ({ rateLimit }: FastifyRequest): number => rateLimit;
`;

/** What holds unless the other types are there. */
const alone = `
  app.get('/f', { config: { rateLimit: { limit: ({ ip }) => ip.length, window: '1m' } } }, () => 1);
  app.get('/g', { preHandler: app.rateLimit({ quota: '5/1m' }) }, () => 1);
  void app.rateLimit.block(keys.ip('192.0.2.1'), '1h');
  app.rateLimit({ quota: '5/1m' }).close();
  // @ts-expect-error a limit is a number
  app.get('/', { config: { rateLimit: { limit: '5', window: '1m' } } }, () => 1);
  // @ts-expect-error a limit needs a window
  app.get('/', { config: { rateLimit: { limit: 5 } } }, () => 1);
  // @ts-expect-error there is nothing to switch on
  app.get('/', { config: { rateLimit: true } }, () => 1);
  // @ts-expect-error a hook needs a limit
  app.rateLimit({});
`;

/** What holds beside the other types, with three lines more. */
const beside = `
  import type { AdditionalRateLimitOptions } from '@floodgate/fastify';
  declare module '@fastify/rate-limit' {
    interface RateLimitOptions extends AdditionalRateLimitOptions {}
  }
  app.get('/f', { config: { rateLimit: { limit: ({ ip }) => ip.length, window: '1m' } } }, () => 1);
  app.get('/g', { config: { rateLimit: { max: ({ ip }) => ip.length, timeWindow: 1 } } }, () => 1);
  app.get('/h', { preHandler: app.rateLimit({ quota: '5/1m' }) }, () => 1);
  app.get('/i', { preHandler: app.rateLimit({ max: 5, timeWindow: '1m' }) }, () => 1);
  // @ts-expect-error a limit is a number
  app.get('/', { config: { rateLimit: { limit: '5', window: '1m' } } }, () => 1);
`;

const theirs = `import theirPlugin from '@fastify/rate-limit';\n`;
const usingTheirs = `await_(app.register(theirPlugin, { max: 5 }));`;

const programs: [name: string, text: string][] = [
  ['alone', start + always + alone],
  ['after @fastify/rate-limit', theirs + start + usingTheirs + always + beside],
  ['before @fastify/rate-limit', start + theirs + usingTheirs + always + beside],
];

describe.each([
  ['the sources', () => join(home, 'src/index.ts'), 'program.mts'],
  ['what an ES module gets', () => join(built, 'index.d.mts'), 'program.mts'],
  ['what a CommonJS module gets', () => join(built, 'index.d.cts'), 'program.cts'],
])('with the types of %s', (_, types, file) => {
  test.each(programs)('%s, a strict program compiles', (_, text) => {
    expect(errorsOf(file, text, types(), { skipLibCheck: false })).toEqual([]);
  });
});

test.each(programs)('%s, a program compiles that checks no libraries', (_, text) => {
  const types = join(built, 'index.d.mts');
  expect(errorsOf('program.mts', text, types, { skipLibCheck: true })).toEqual([]);
});

test('the types fit Fastify 5.0 as well', () => {
  const fastify = [join(home, 'node_modules/fastify50/fastify.d.ts')];
  const text = start + always + alone;
  const types = join(built, 'index.d.mts');
  expect(errorsOf('program.mts', text, types, { paths: { fastify } })).toEqual([]);
});

test('without the three lines, options with functions are the other types’ to refuse', () => {
  const text = theirs + start + usingTheirs + always + beside.slice(beside.indexOf('app.get'));
  const errors = errorsOf('program.mts', text, join(built, 'index.d.mts'), {});
  expect(errors.join()).toMatch(/'limit' does not exist in type 'RateLimitOptions'/);
});

const files = new Map<string, ts.SourceFile | undefined>();

/** What the compiler says of a file of this folder that is not there. */
function errorsOf(
  file: string,
  text: string,
  types: string,
  { paths, ...more }: ts.CompilerOptions,
): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    types: ['node'],
    customConditions: ['@floodgate/source'],
    allowImportingTsExtensions: true,
    noEmit: true,
    ...more,
    paths: { ...paths, '@floodgate/fastify': [types] },
  };
  const path = join(__dirname, file);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === path || fileExists(name);
  host.getSourceFile = (name, version, ...rest) => {
    if (name === path) return ts.createSourceFile(name, text, version, true);
    if (!files.has(name)) files.set(name, getSourceFile(name, version, ...rest));
    return files.get(name);
  };
  return ts
    .getPreEmitDiagnostics(ts.createProgram([path], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
