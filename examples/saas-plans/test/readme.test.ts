import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runLimits } from '../src/limits-command.ts';
import { operationsBy } from '../src/remote-operations.ts';
import { commandsOf, curl, wordsOf } from './console.ts';
import { OPERATOR_TOKEN, startTestServer, type TestServer } from './server.ts';

// One server answers the commands in their order, by a clock that stands still.

const commands = commandsOf(readFileSync(join(__dirname, '../README.md'), 'utf8'));

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ isProxy: false });
});
afterAll(() => server.close());

/** What `pnpm --silent --filter … limits` prints. */
async function limits(args: readonly string[]): Promise<string> {
  let printed = '';
  const print = (text: string): void => {
    printed += text;
  };
  const operations = operationsBy({ url: server.url, token: OPERATOR_TOKEN });
  await runLimits(args, { operations, input: async () => '', print, complain: print });
  return printed.trimEnd();
}

test('there are commands', () => {
  expect(commands.length).toBeGreaterThan(10);
});

test.each(commands)('$line', async ({ line, expected }) => {
  const words = wordsOf(line, { OPERATOR_TOKEN });
  const rest = words.slice(words.indexOf('limits') + 1);
  const printed = words[0] === 'curl' ? await curl(words.slice(1), server.url) : await limits(rest);
  expect(printed).toBe(expected);
});
