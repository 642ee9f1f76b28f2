import { createReadStream, fstatSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { getSystemErrorMap } from 'node:util';

/** Where a log is read from. */
export interface Source {
  /** Bytes in all; undefined for what is no file, such as a pipe. */
  readonly size: number | undefined;
  /** Bytes so far. */
  readonly bytesRead: number;
  /** @throws UnreadableError */
  chunks(): AsyncGenerator<Buffer>;
}

/** A log cannot be read: the message says which, and why. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/**
 * Opens a log: a file, or standard input where none is named.
 *
 * @throws UnreadableError
 */
export function openSource(file: string | undefined): Source {
  try {
    const fd = file === undefined ? process.stdin.fd : openSync(file, 'r');
    const stream = file === undefined ? process.stdin : createReadStream(file, { fd });
    const stats = fstatSync(fd);
    return {
      size: stats.isFile() ? stats.size : undefined,
      get bytesRead() {
        return stream.bytesRead;
      },
      chunks: () => read(stream, file),
    };
  } catch (error) {
    throw unreadable(file, error);
  }
}

async function* read(stream: Readable, file: string | undefined): AsyncGenerator<Buffer> {
  const chunks = stream[Symbol.asyncIterator]();
  for (;;) {
    // Only what reading throws is caught here, not what becomes of a chunk.
    const next = await chunks.next().catch((error) => {
      throw unreadable(file, error);
    });
    if (next.done === true) return;
    yield next.value;
  }
}

function unreadable(file = 'standard input', error: unknown): UnreadableError {
  const { errno = 0, message } = error as NodeJS.ErrnoException;
  const reason = getSystemErrorMap().get(errno)?.[1] ?? message;
  return new UnreadableError(`Cannot read ${file}: ${reason}`, { cause: error });
}
