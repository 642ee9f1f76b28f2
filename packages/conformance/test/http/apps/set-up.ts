import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Limiter, Options, Trust } from '../scenario.ts';

/** What an app is made of. Every family makes the same one, in its own way. */
export interface SetUp {
  readonly trust: Trust;
  readonly before: Readonly<Record<string, string>>;
  /** What every limiter is given that says nothing else. */
  readonly common: Pick<Options, 'store' | 'onEvent'>;
  readonly limiters: readonly Required<Limiter>[];
}

export type MakeApp = (setUp: SetUp) => RequestListener | Promise<RequestListener>;

/** What `/stream` sends. */
export const EVENTS: readonly string[] = ['data: 1\n\n', 'data: 2\n\n'];

/** What `/broken` sends: a piece, and then it fails. */
export function brokenStream(): Readable {
  return Readable.from(
    (async function* pieces() {
      yield 'half';
      // Not before the piece is on its way.
      await new Promise(setImmediate);
      throw new Error('The stream broke');
    })(),
  );
}

export function boom(): never {
  throw new Error('The handler failed');
}

/** Each framework reads the status of an error in its own place. */
export function forbidden(): never {
  throw Object.assign(new Error('Forbidden'), { status: 403, statusCode: 403 });
}

/** An answer that the framework knows nothing of. */
export function answerRaw(_request: IncomingMessage, response: ServerResponse): void {
  // Koa has made it a 404 until somebody answers.
  response.statusCode = 200;
  response.end('raw');
}
