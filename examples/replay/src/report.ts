import Table from 'cli-table3';
import type { BadLines, Replay } from './replay.ts';
import type { ClientCount } from './tally.ts';

/** The one object that `--json` prints. */
export interface JsonReport {
  readonly requests: number;
  readonly clients: number;
  readonly deniedRequests: number;
  readonly deniedClients: number;
  readonly waitMs: number;
  readonly mostDenied: readonly ClientCount[];
}

export function jsonReport({ tally, waitMs }: Replay, top: number): JsonReport {
  const { requests, clients, deniedRequests, deniedClients } = tally;
  const mostDenied = tally.mostDenied(top);
  return { requests, clients, deniedRequests, deniedClients, waitMs, mostDenied };
}

/** The same for people. */
export function textReport(replay: Replay, quota: string, top: number): string {
  const report = jsonReport(replay, top);
  const summary = table([]);
  summary.push(
    ['Quota', { content: quota, hAlign: 'right' }],
    ['Requests', grouped(report.requests)],
    ['Clients', grouped(report.clients)],
    ['Denied requests', withShare(report.deniedRequests, report.requests)],
    ['Denied clients', withShare(report.deniedClients, report.clients)],
    ['Wait of admitted requests', `${grouped(report.waitMs / 1000)} s`],
    ['Bad lines', grouped(replay.badLines.count)],
  );
  if (report.mostDenied.length === 0) return `${summary}\n`;
  const mostDenied = table(['Most denied clients', 'Denied', 'Requests']);
  for (const { client, denied, requests } of report.mostDenied) {
    mostDenied.push([client, grouped(denied), grouped(requests)]);
  }
  return `${summary}\n${mostDenied}\n`;
}

/** What to say about the lines that were left out; nothing where there are none. */
export function badLinesNote({ count, first }: BadLines): string {
  if (count === 0) return '';
  const lines = first.length === 1 ? `line ${first[0]}` : `lines ${first.join(', ')}`;
  const more = count > first.length ? ` and ${grouped(count - first.length)} more` : '';
  const were = count === 1 ? '1 line was' : `${grouped(count)} lines were`;
  return `${were} left out, no requests in the combined log format: ${lines}${more}\n`;
}

function table(head: string[]): Table.Table {
  return new Table({
    head,
    colAligns: ['left', 'right', 'right'],
    // Plain, since what is printed may go to a file.
    style: { head: [], border: [], compact: true },
  });
}

function withShare(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (100 * part) / whole;
  return `${grouped(part)} (${percent.toFixed(1)} %)`;
}

function grouped(number: number): string {
  return number.toLocaleString('en-US', { maximumFractionDigits: 3 });
}
