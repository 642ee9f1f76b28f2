import { once } from 'node:events';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { ManualClock } from '@floodgate/core/testing';
import { MemoryStore } from '@floodgate/fastify';
import { createApp } from '../src/app.ts';
import { MS_PER_TOKEN } from '../src/model.ts';

/** What is asked, and for how long one waits for the end of the answer. */
export interface Question {
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  /** Without one it is a GET. */
  readonly body?: string | undefined;
  /** Hangs up after so many milliseconds. @default never */
  readonly maxMs?: number | undefined;
}

/** What came of the answer until its end, or until one hung up. */
export interface Answer {
  /** Undefined where one hung up before. */
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** A server whose clock goes on only while all that is asked waits for the model. */
export interface TestServer {
  readonly clock: ManualClock;
  /**
   * Resolves when all of the answers have ended, and what they cost is settled. All the questions have arrived before
   * the model says a word.
   */
  ask(...questions: readonly Question[]): Promise<readonly Answer[]>;
  close(): Promise<void>;
}

export async function serve(): Promise<TestServer> {
  const clock = new ManualClock(Date.parse('2026-11-30T12:00:00Z'));
  const app = await createApp({ store: new MemoryStore({ clock }) });
  let open = 0;
  let closed = 0;
  app.server.on('request', (_request, response) => {
    open += 1;
    response.once('close', () => {
      open -= 1;
      closed += 1;
    });
  });
  const { port } = new URL(await app.listen({ port: 0 }));

  async function ask(...questions: readonly Question[]): Promise<readonly Answer[]> {
    const last = closed + questions.length;
    const startMs = clock.now();
    const asked = questions.map((question) => ({ ...question, ...send(question, port) }));
    while (closed + clock.sleeping < last) await setImmediate();
    while (closed < last) {
      await setImmediate();
      if (open === 0 || clock.sleeping < open) continue;
      const waitedMs = clock.now() - startMs;
      const due = asked.filter(({ maxMs = Number.POSITIVE_INFINITY }) => maxMs === waitedMs);
      const before = closed;
      for (const { hangUp } of due) hangUp();
      while (closed < before + due.length) await setImmediate();
      // Where nobody is left, the model is to stop at once, and not at its next token.
      if (open > 0) clock.advance(MS_PER_TOKEN);
    }
    // By now, what is settled at the end of a response is.
    await setImmediate();
    return Promise.all(asked.map(({ answer }) => answer));
  }
  return { clock, ask, close: () => app.close() };
}

function send(
  { path, headers, body }: Question,
  port: string,
): { readonly answer: Promise<Answer>; hangUp(): void } {
  const method = body === undefined ? 'GET' : 'POST';
  const asked = request({ port, path, method, headers }).end(body);
  return { answer: read(once(asked, 'response')), hangUp: () => asked.destroy() };
}

async function read(answered: Promise<unknown[]>): Promise<Answer> {
  let response: IncomingMessage | undefined;
  let body = '';
  try {
    [response] = (await answered) as [IncomingMessage];
    for await (const chunk of response.setEncoding('utf8')) body += chunk;
  } catch (error) {
    // As it is where one hangs up.
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  }
  const { statusCode, headers = {}, rawHeaders = [] } = response ?? {};
  return { status: statusCode, headers, rawHeaders, body };
}
