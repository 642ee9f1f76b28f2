import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Sent } from './scenario.ts';

/** A response, as it came over the wire. */
export interface Answer {
  readonly status: number;
  /** The headers about limits, by their names in lower case. One that came twice has both values, between them ` + `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string | undefined;
  /** What `Content-Length` said. */
  readonly length: number | undefined;
  readonly body: string;
}

/** Sends a request on a connection of its own. */
export async function send(port: number, { method, path, headers, body }: Sent): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers, agent: false };
    request(options, resolve).on('error', reject).end(body);
  });
  const { statusCode = 0, headers: received } = response;
  const length = received['content-length'];
  return {
    status: statusCode,
    headers: limitHeaders(response.rawHeaders),
    type: received['content-type'],
    length: length === undefined ? undefined : Number(length),
    body: (await buffer(response)).toString(),
  };
}

const ABOUT_LIMITS =
  /^(?:(?:x-)?ratelimit.*|retry-after|cache-control|access-control-expose-headers)$/;

function limitHeaders(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]?.toLowerCase() ?? '';
    const value = raw[i + 1] ?? '';
    if (!ABOUT_LIMITS.test(name)) continue;
    headers[name] = headers[name] === undefined ? value : `${headers[name]} + ${value}`;
  }
  return headers;
}
