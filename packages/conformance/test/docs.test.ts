import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster, startRedis } from '@floodgate/test-redis';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { briefReplay } from './docs/brief-replay.ts';
import { documents, isCommand, isThere } from './docs/documents.ts';
import { blocksOf, linksOf, tableRowsOf } from './docs/markdown.ts';
import { startProgram } from './docs/program.ts';
import { makeProject } from './docs/project.ts';
import { runSample } from './docs/run-sample.ts';
import { commandLinesOf, samplesOf, sessionsOf } from './docs/sample.ts';
import { root } from './workspace.ts';

// What the documents say is what happens. Each `ts` and `js` block is a whole program and is run as one, as a reader
// would; a `text` block after it is what it prints, a `console` block is asked of its server.

// A process each, on however busy a machine.
jest.setTimeout(180_000);

const samples = [...documents].flatMap(([path, text]) => samplesOf(path, text));

const project = makeProject(samples);
// One for all samples, each of which has a database of its own there, in `REDIS_URL`.
const redis = startRedis({ args: ['--databases', String(samples.length)] });
const cluster = startCluster();
afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
  await (await redis).stop();
  await (await cluster).stop();
});

test.concurrent.each(samples)('the sample at $name does what is shown', async (sample) => {
  const places = {
    REDIS_URL: `${(await redis).url}/${samples.indexOf(sample)}`,
    REDIS_CLUSTER: (await cluster).nodes[0]?.url,
  };
  const { stdout, stderr, code, responses } = await runSample(sample, project, places);
  // A server has no exit code: it is ended from here.
  expect({ stderr, code: code ?? 0 }).toEqual({ stderr: '', code: 0 });
  if (sample.output !== undefined) expect(stdout.trimEnd()).toBe(sample.output);
  const expected = sample.requests.map((request) => request.expected);
  expect(responses.map(withoutDate)).toEqual(expected.map(withoutDate));
});

test.concurrent('the samples type-check, as strictly as the sources', async () => {
  const tsc = startProgram([require.resolve('typescript/bin/tsc')], project);
  expect(await tsc.ended).toEqual({ stdout: '', stderr: '', code: 0 });
});

const replays = [...documents.values()]
  .flatMap(sessionsOf)
  .filter(({ words }) => words.includes('replay'));

test.concurrent.each(replays)('`$line` prints what is shown', async ({ words, expected }) => {
  const args = ['examples/replay/src/main.ts', ...words.slice(words.indexOf('--') + 1)];
  const { stdout, stderr } = await startProgram(args, root).ended;
  expect({ stderr, stdout: stdout.trimEnd() }).toEqual({ stderr: '', stdout: expected });
});

const guide = documents.get('docs/choosing-an-algorithm.md') ?? '';
const replayed = tableRowsOf(guide).filter((row) => /^[\d,]+$/.test(row[1] ?? ''));

test.each(replayed)('the guide knows what %s denies', (quota = '', ...figures) => {
  const log = readFileSync(join(root, 'examples/replay/test/data/access.log'), 'latin1');
  const [deniedRequests, deniedClients, waitSeconds] = figures.map((figure) =>
    Number(figure.replaceAll(',', '')),
  );
  expect({ deniedRequests, deniedClients, waitSeconds }).toEqual(briefReplay(log, quota));
});

describe.each([...documents])('%s', (path, text) => {
  test('leads to what is there', () => {
    expect(linksOf(text).filter(({ target }) => !isThere(target, path))).toEqual([]);
  });

  test('names commands that there are', () => {
    expect(commandLinesOf(text).filter((words) => !isCommand(words))).toEqual([]);
  });

  test('shows JSON that is JSON', () => {
    for (const block of blocksOf(text)) {
      if (block.language === 'json') JSON.parse(block.text);
    }
  });
});

/** The server's clock stands still where the document's does; the date is that of the moment. */
function withoutDate(response: string): string {
  return response.replace(/^Date: .*$/m, 'Date: (now)');
}
