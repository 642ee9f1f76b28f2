import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { parseArgs } from 'node:util';

/** A command line of a document's `console` blocks, and what it prints there. */
export interface Command {
  readonly line: string;
  readonly expected: string;
}

export function commandsOf(markdown: string): Command[] {
  const blocks = [...markdown.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
  return blocks.flatMap((text = '') =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [line = '', ...printed] = part.split('\n');
        return { line, expected: printed.join('\n').trimEnd() };
      }),
  );
}

/** The words of a command line, with the values of `$NAME`s between double quotes or none. */
export function wordsOf(line: string, variables: Readonly<Record<string, string>>): string[] {
  const words = line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g);
  return [...words].map(
    ([, single, double, bare]) =>
      single ??
      (double ?? bare ?? '').replace(/\$(\w+)/g, (all, name: string) => variables[name] ?? all),
  );
}

/** What `curl` prints of a server at `url` that is called `http://localhost:3000`, for as much of it as is used. */
export async function curl(args: readonly string[], url: string): Promise<string> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      include: { type: 'boolean', short: 'i' },
      silent: { type: 'boolean', short: 's' },
      request: { type: 'string', short: 'X' },
      header: { type: 'string', short: 'H', multiple: true },
      data: { type: 'string', short: 'd' },
      output: { type: 'string', short: 'o' },
      'write-out': { type: 'string', short: 'w' },
    },
    allowPositionals: true,
  });
  const headers = Object.fromEntries((values.header ?? []).map((line) => line.split(': ')));
  const method = values.request ?? (values.data === undefined ? 'GET' : 'POST');
  let printed = '';
  for (const address of positionals.flatMap(eachOf)) {
    const asked = request(address.replace('http://localhost:3000', url), { method, headers });
    const [response] = (await once(asked.end(values.data), 'response')) as [IncomingMessage];
    if (values.include === true) printed += headOf(response);
    let body = '';
    for await (const chunk of response.setEncoding('utf8')) body += chunk;
    if (values.output === undefined) printed += body;
    printed += values['write-out']?.replace('%{http_code}', String(response.statusCode)) ?? '';
  }
  return printed.trimEnd();
}

/** `[2-4]` stands for each of these numbers. */
function eachOf(address: string): string[] {
  const [all, first, last] = /\[(\d+)-(\d+)\]/.exec(address) ?? [];
  if (all === undefined) return [address];
  const numbers = Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => i);
  return numbers.map((i) => address.replace(all, String(Number(first) + i)));
}

/** The `Date` is that of the moment. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let head = `HTTP/1.1 ${statusCode} ${statusMessage}\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const value = rawHeaders[i] === 'Date' ? 'Mon, 30 Nov 2026 12:00:24 GMT' : rawHeaders[i + 1];
    head += `${rawHeaders[i]}: ${value}\n`;
  }
  return `${head}\n`;
}
