import { type Budget, budget } from '../budget.ts';
import type { Outcome } from '../decisions/subject.ts';
import type { Report } from '../report.ts';
import { median } from '../statistics.ts';
import { type LimiterName, limiters } from './limiters.ts';
import { type LoadSample, loadServer } from './load.ts';
import type { Framework } from './serve.ts';
import { ServerProcess } from './server-process.ts';

export interface HttpSample {
  readonly framework: Framework;
  readonly limiter: LimiterName;
  readonly outcome: Outcome;
  readonly requestsPerSecond: number;
  /** Of the server, for one request. */
  readonly cpuUs: number;
  /** Beyond what the bare framework took in the same round. */
  readonly aboveBareUs: number;
}

/** What a limiter costs a server: requests a second, and processor time for each. */
export async function compareHttp(quick: boolean): Promise<Report<HttpSample>> {
  const rows: HttpSample[] = [];
  for (const framework of FRAMEWORKS) {
    for (const outcome of OUTCOMES) rows.push(...(await compare(framework, outcome, quick)));
  }
  return {
    title:
      'Requests per second from 32 connections on this machine, the server’s processor time for each request in µs, ' +
      'and what of that is above the bare framework (of denials: one that answers all with 429); medians of rounds ' +
      'in which all take turns.',
    rows,
    budgets: judge(rows),
    table: {
      columns: ['', 'requests/s', 'µs', 'above bare'],
      lines: rows.map((row) => [
        `${row.framework}, ${row.outcome}: ${row.limiter}`,
        row.requestsPerSecond.toFixed(0),
        row.cpuUs.toFixed(1),
        row.aboveBareUs.toFixed(1),
      ]),
    },
  };
}

const FRAMEWORKS = ['Express 5', 'Express 4'] as const;
const OUTCOMES = ['admitted', 'denied'] as const;
const NAMES = Object.keys(limiters) as LimiterName[];
const OURS: LimiterName = '@floodgate/express';

async function compare(
  framework: Framework,
  outcome: Outcome,
  quick: boolean,
): Promise<HttpSample[]> {
  const servers: ServerProcess[] = [];
  try {
    for (const limiter of NAMES) {
      servers.push(await ServerProcess.start({ framework, limiter, outcome }));
    }
    const samples = new Map<ServerProcess, LoadSample[]>();
    const seconds = quick ? 0.2 : 2;
    // The first round compiles, and uses the one unit up that a denied client has.
    for (const server of servers) await loadServer(server, seconds);
    for (let round = 0; round < (quick ? 1 : ROUNDS); round += 1) {
      for (const server of servers) {
        samples.set(server, [...(samples.get(server) ?? []), await loadServer(server, seconds)]);
      }
    }
    return summarize(samples);
  } finally {
    for (const server of servers) server.stop();
  }
}

const ROUNDS = 5;

function summarize(samples: ReadonlyMap<ServerProcess, readonly LoadSample[]>): HttpSample[] {
  const [bare = []] = [...samples.values()];
  return [...samples].map(([{ input }, rounds]) => ({
    ...input,
    requestsPerSecond: median(rounds.map(({ requestsPerSecond }) => requestsPerSecond)),
    cpuUs: median(rounds.map(({ cpuUs }) => cpuUs)),
    aboveBareUs: median(
      rounds.map(({ cpuUs }, round) => cpuUs - (bare[round] as LoadSample).cpuUs),
    ),
  }));
}

/** A floor that costs nothing measurable would make every ratio to it meaningless. */
const LEAST_US = 1;

function judge(rows: readonly HttpSample[]): Budget[] {
  return FRAMEWORKS.flatMap((framework) =>
    OUTCOMES.flatMap((outcome) => {
      const above = (name: LimiterName): number =>
        rows.find(
          (row) => row.framework === framework && row.outcome === outcome && row.limiter === name,
        )?.aboveBareUs as number;
      const peers = NAMES.filter((name) => name !== 'bare' && name !== 'floor' && name !== OURS);
      const floorUs = Math.max(above('floor'), LEAST_US);
      const bestPeerUs = Math.max(Math.min(...peers.map(above)), LEAST_US);
      const claim = `${framework}, ${outcome}: above bare,`;
      return [
        budget(`${claim} to the floor's`, 1.5, above(OURS) / floorUs),
        budget(`${claim} to the best peer's`, 1, above(OURS) / bestPeerUs),
      ];
    }),
  );
}
