import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** A `curl` command of the README, and what it prints there. */
export interface Exchange {
  readonly line: string;
  readonly expected: string;
  /** When it is answered, in milliseconds since 1970; undefined where no `Date` is shown. */
  readonly atMs: number | undefined;
}

/** What the README shows, in its order. */
export function readExchanges(): Exchange[] {
  const readme = readFileSync(resolve(__dirname, '../README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```console\n(.*?)^```$/gms)].map(([, text = '']) => text);
  return blocks.flatMap((text) =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [line = '', ...printed] = part.split('\n');
        const date = printed.find((one) => one.startsWith('Date: '));
        return {
          line,
          expected: printed.join('\n').trimEnd(),
          atMs: date === undefined ? undefined : Date.parse(date.slice('Date: '.length)),
        };
      }),
  );
}

/** What a command line prints, for as much of `curl` as the README uses, of a server at another port. */
export async function curl(line: string, port: number): Promise<string> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
  const { values, positionals } = parseArgs({
    args: words.slice(1) as string[],
    options: {
      include: { type: 'boolean', short: 'i' },
      silent: { type: 'boolean', short: 's' },
      header: { type: 'string', short: 'H', multiple: true },
      data: { type: 'string', short: 'd' },
    },
    allowPositionals: true,
  });
  const headers = Object.fromEntries((values.header ?? []).map((text) => text.split(': ')));
  const { pathname } = new URL(positionals[0] as string);
  const asked = request({ host: '127.0.0.1', port, path: pathname, method: 'POST', headers });
  asked.end(values.data);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let printed = values.include === true ? headOf(response) : '';
  for await (const chunk of response.setEncoding('utf8')) printed += chunk;
  return printed;
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let head = `HTTP/1.1 ${statusCode} ${statusMessage}\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) head += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\n`;
  return `${head}\n`;
}
