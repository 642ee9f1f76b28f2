import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { expect, test } from '@jest/globals';
import { type Answer, type Question, serve } from './server.ts';

const readme = readFileSync(resolve(__dirname, '../README.md'), 'utf8');

test('request by request, the README shows what happens', async () => {
  const server = await serve();
  let shown = readme;
  for (const [part, prose = '', block = ''] of readme.matchAll(/([^`]+)```console\n(.*?)```/gs)) {
    server.clock.advance(laterMs(prose));
    let seen = '';
    for (const [, line = ''] of block.matchAll(/^\$ (.*)$/gm)) {
      const { question, isHeadShown, isSilent } = readCurl(line);
      const atMs = server.clock.now();
      const [answer] = await server.ask(question);
      seen += `$ ${line}\n${isSilent ? '' : print(answer as Answer, isHeadShown, atMs)}\n`;
    }
    shown = shown.replace(part, () => `${prose}\`\`\`console\n${seen.trimEnd()}\n\`\`\``);
  }
  await server.close();
  expect(shown).toBe(readme);
});

/** How long after what was before: `A minute later`, `13 seconds later`. */
function laterMs(prose: string): number {
  if (/^A minute later/m.test(prose)) return 60_000;
  const [, seconds = 0] = /^(\d+) seconds later/m.exec(prose) ?? [];
  return Number(seconds) * 1000;
}

function readCurl(line: string): {
  readonly question: Question;
  readonly isHeadShown: boolean;
  readonly isSilent: boolean;
} {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
  const { values, positionals } = parseArgs({
    args: words.slice(1) as string[],
    options: {
      include: { type: 'boolean', short: 'i' },
      silent: { type: 'boolean', short: 's' },
      'no-buffer': { type: 'boolean', short: 'N' },
      output: { type: 'string', short: 'o' },
      header: { type: 'string', short: 'H', multiple: true },
      data: { type: 'string', short: 'd' },
      'max-time': { type: 'string' },
    },
    allowPositionals: true,
  });
  const { header = [], data: body, include = false, output, 'max-time': maxTime } = values;
  const headers = Object.fromEntries(header.map((text) => text.split(': ')));
  const maxMs = maxTime === undefined ? undefined : Number(maxTime) * 1000;
  const { pathname: path } = new URL(positionals[0] as string);
  const question = { path, headers, body, maxMs };
  return { question, isHeadShown: include, isSilent: output !== undefined };
}

function print(
  { status = 0, rawHeaders, body }: Answer,
  isHeadShown: boolean,
  atMs: number,
): string {
  const shown = `${body.trimEnd()}\n`;
  if (!isHeadShown) return shown;
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = rawHeaders.slice(i, i + 2);
    // Node.js does not go by the clock of a test.
    head += `${name}: ${name === 'Date' ? new Date(atMs).toUTCString() : value}\n`;
  }
  return `${head}\n${shown}`;
}
