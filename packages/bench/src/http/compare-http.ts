import { type Budget, budget } from '../budget.ts';
import type { Outcome } from '../decisions/subject.ts';
import type { Report } from '../report.ts';
import { median } from '../statistics.ts';
import { type LoadSample, loadServer } from './load.ts';
import { ServerProcess } from './server-process.ts';
import { type Framework, servers } from './servers.ts';

export interface HttpSample {
  readonly framework: Framework;
  readonly limiter: string;
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

const FRAMEWORKS = Object.keys(servers) as Framework[];
const OUTCOMES = ['admitted', 'denied'] as const;

async function compare(
  framework: Framework,
  outcome: Outcome,
  quick: boolean,
): Promise<HttpSample[]> {
  const started: ServerProcess[] = [];
  try {
    for (const limiter of Object.keys(servers[framework])) {
      started.push(await ServerProcess.start({ framework, limiter, outcome }));
    }
    const samples = new Map<ServerProcess, LoadSample[]>();
    const seconds = quick ? 0.2 : 2;
    // The first round compiles, and uses the one unit up that a denied client has.
    for (const server of started) await loadServer(server, seconds);
    for (let round = 0; round < (quick ? 1 : ROUNDS); round += 1) {
      for (const server of started) {
        samples.set(server, [...(samples.get(server) ?? []), await loadServer(server, seconds)]);
      }
    }
    return summarize(samples);
  } finally {
    for (const server of started) server.stop();
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
  return FRAMEWORKS.flatMap((framework) => {
    const names = Object.keys(servers[framework]);
    const ours = names.find((name) => name.startsWith('@floodgate/')) as string;
    const peers = names.filter((name) => name !== 'bare' && name !== 'floor' && name !== ours);
    const row = (outcome: Outcome, name: string): HttpSample =>
      rows.find(
        (row) => row.framework === framework && row.outcome === outcome && row.limiter === name,
      ) as HttpSample;
    const above = (outcome: Outcome, name: string): number =>
      Math.max(row(outcome, name).aboveBareUs, LEAST_US);
    const flood = row('denied', ours).cpuUs / row('admitted', ours).cpuUs;
    return [
      ...OUTCOMES.flatMap((outcome) => {
        const claim = `${framework}, ${outcome}: above bare,`;
        const us = above(outcome, ours);
        const bestPeerUs = Math.min(...peers.map((peer) => above(outcome, peer)));
        return [
          budget(`${claim} to the floor's`, 1.5, us / above(outcome, 'floor')),
          budget(`${claim} to the best peer's`, 1, us / bestPeerUs),
        ];
      }),
      budget(`${framework}: a denied request to an admitted one`, 4 / 3, flood),
    ];
  });
}
