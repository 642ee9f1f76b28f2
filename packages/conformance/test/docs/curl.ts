import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { parseArgs } from 'node:util';

/**
 * What `curl` prints, for as much of it as the documents use; the server of `localhost:3000` listens on `port`. The
 * `Date` is that of the moment.
 */
export async function curl(args: readonly string[], port: number): Promise<string> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      include: { type: 'boolean', short: 'i' },
      silent: { type: 'boolean', short: 's' },
      request: { type: 'string', short: 'X' },
      header: { type: 'string', short: 'H', multiple: true },
    },
    allowPositionals: true,
  });
  const headers = Object.fromEntries((values.header ?? []).map((line) => line.split(': ')));
  let printed = '';
  for (const url of positionals.map((text) => new URL(text))) {
    if (url.host !== 'localhost:3000') throw new Error(`No sample listens at ${url}`);
    const path = `${url.pathname}${url.search}`;
    const asked = request({ port, path, method: values.request ?? 'GET', headers }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    if (values.include === true) printed += headOf(response);
    for await (const chunk of response.setEncoding('utf8')) printed += chunk;
  }
  return printed.trimEnd();
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let head = `HTTP/1.1 ${statusCode} ${statusMessage}\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) head += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\n`;
  return `${head}\n`;
}
