import { SingleBar } from 'cli-progress';
import type { Source } from './source.ts';

export interface Progress {
  show(requests: number): void;
  end(): void;
}

/** A bar on a terminal, by how much of the log is read; a count where nobody knows how long it is; else nothing. */
export function startProgress(source: Source): Progress {
  if (!process.stderr.isTTY) return { show: () => {}, end: () => {} };
  const bar = new SingleBar({
    format:
      source.size === undefined
        ? '{requests} requests'
        : '{bar} {percentage} %  {requests} requests  {eta_formatted} left',
    stream: process.stderr,
    clearOnComplete: true,
    // The terminal stays as it is, so that an interrupt may end the program without a word.
    gracefulExit: false,
    linewrap: true,
  });
  bar.start(source.size ?? 0, 0, { requests: 0 });
  return {
    show(requests) {
      if (requests % REQUESTS_PER_UPDATE === 0) bar.update(source.bytesRead, { requests });
    },
    end: () => bar.stop(),
  };
}

const REQUESTS_PER_UPDATE = 100;
