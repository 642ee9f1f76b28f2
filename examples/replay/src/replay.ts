import type { FloodgateEvent, Quota, Verdict } from '@floodgate/express';
import { createApp } from './app.ts';
import { LogClock } from './log-clock.ts';
import { parseLogEntry } from './log-entry.ts';
import { send } from './send.ts';
import { Tally } from './tally.ts';

export interface ReplayOptions {
  readonly quota: Quota;
  /** How many leading bits of an IPv6 address are one client. @default 56 */
  readonly ipv6Prefix?: number;
  /** Called after each line, with how many requests there were so far. */
  readonly onLine?: (requests: number) => void;
  /** Called for what the limiter has to say beside its verdicts. */
  readonly onEvent?: (event: FloodgateEvent) => void;
}

/** What a quota would have done to the requests of a log. */
export interface Replay {
  readonly tally: Tally;
  /** How long the admitted requests would have been held back in all: a leaky bucket's doing. */
  readonly waitMs: number;
  readonly badLines: BadLines;
}

/** The lines that are no requests. */
export interface BadLines {
  readonly count: number;
  /** The numbers of the first few, counted from 1. */
  readonly first: readonly number[];
}

/** Sends the request of each line through the app, one after the other, at the log's time and from the log's client. */
export async function replay(
  lines: AsyncIterable<string>,
  { quota, ipv6Prefix = 56, onLine, onEvent = () => {} }: ReplayOptions,
): Promise<Replay> {
  const tally = new Tally();
  const clock = new LogClock();
  const onVerdict = (verdict: Verdict): void => {
    tally.count(clientOf(verdict), verdict.allowed);
  };
  const app = createApp({ quota, clock, ipv6Prefix, onVerdict, onEvent });
  const badLines = { count: 0, first: [] as number[] };
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    const entry = parseLogEntry(line);
    if (entry === undefined) {
      badLines.count += 1;
      if (badLines.first.length < MOST_LINE_NUMBERS) badLines.first.push(number);
    } else {
      clock.set(entry.timeMs);
      await send(app, entry);
    }
    onLine?.(tally.requests);
  }
  return { tally, waitMs: clock.sleptMs, badLines };
}

const MOST_LINE_NUMBERS = 5;

/** The limiter's own word for the client: `ip:203.0.113.7`, and of an IPv6 address its network. */
function clientOf({ tightest }: Verdict): string {
  return tightest.key.slice('ip:'.length);
}
