import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';

/** What a client was told. */
export interface Answer {
  /** The client's address. */
  readonly client: string;
  /** The process that answered. */
  readonly process: string;
  readonly admitted: boolean;
  /** `X-RateLimit-Remaining`. */
  readonly left: number;
}

export interface Requests {
  readonly url: string;
  /** The client's address, one of this machine. */
  readonly client: string;
  readonly count: number;
  readonly signal: AbortSignal;
}

/** Sends one after the other, each on a connection of its own. */
export async function send({ url, client, count, signal }: Requests): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let i = 0; i < count; i += 1) {
    const sent = request(url, {
      agent: false,
      localAddress: client,
      // Who pretends to be somebody else each time must not get further for it.
      headers: { 'X-Forwarded-For': `203.0.113.${i % 256}` },
      signal,
    }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    answers.push(answerOf(client, response));
  }
  return answers;
}

function answerOf(client: string, { statusCode, headers }: IncomingMessage): Answer {
  if (statusCode !== 200 && statusCode !== 429) {
    throw new Error(`Expected status 200 or 429, got ${statusCode}`);
  }
  return {
    client,
    process: String(headers['x-process']),
    admitted: statusCode === 200,
    left: Number(headers['x-ratelimit-remaining']),
  };
}

/**
 * Whether a client on this machine can have the address. On Linux it can have any in 127.0.0.0/8; elsewhere, only
 * 127.0.0.1 may be there.
 */
export async function isOurs(address: string): Promise<boolean> {
  const server = createServer().listen(0, address);
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await once(server.close(), 'close');
  return true;
}
