import { budget } from '../budget.ts';
import { reference } from '../decisions/floors.ts';
import { budgetedStores } from '../decisions/ours.ts';
import { peers } from '../decisions/peers.ts';
import type { Report } from '../report.ts';
import { runInChild } from '../run-in-child.ts';
import { median } from '../statistics.ts';
import type { LoopInput, LoopSample } from './hold-loop.ts';

/** How long the event loop is held up while keys come that were never seen before. */
export async function compareLoops(quick: boolean): Promise<Report<LoopSample>> {
  const scale = quick ? 100 : 1;
  const rows: LoopSample[] = [];
  for (const { runs, ...input } of scenarios) {
    const scaled = { ...input, arrivals: input.arrivals / scale, room: input.room / scale };
    const samples: LoopSample[] = [];
    for (let run = 0; run < (quick ? 1 : runs); run += 1) {
      samples.push(await runInChild('holdLoop', scaled));
    }
    rows.push(middleOf(samples));
  }
  return {
    title:
      'The longest that the event loop was held up, in ms, while new keys came, 64 in a turn, without forced ' +
      'collections: of three runs with a million the one in the middle, one run with ten million. With nothing in ' +
      'the loop, what is left is the machine’s.',
    rows,
    budgets: (quick ? [] : rows.filter(isOurs)).map(({ subject, arrivals, longestMs }) => {
      const claim = `${subject}, ${arrivals.toLocaleString('en')} new keys: loop held, ms`;
      return budget(claim, 20, longestMs);
    }),
    table: {
      columns: ['', 'new keys', 'room for', 'loop held', 'collection'],
      lines: rows.map((row) => [
        row.subject,
        row.arrivals.toLocaleString('en'),
        row.room.toLocaleString('en'),
        row.longestMs.toFixed(1),
        row.longestCollectionMs.toFixed(1),
      ]),
    },
  };
}

const names = (subjects: readonly { readonly name: string }[]): string[] =>
  subjects.map(({ name }) => name);

const million = { arrivals: 1_000_000, room: 1_000_000, runs: 3 };
/** Keys come and go: most of those that come find the store full. */
const passing = { arrivals: 10_000_000, room: 100_000, runs: 1 };

const scenarios: readonly (LoopInput & { readonly runs: number })[] = [
  ...[undefined, reference.name, ...names(budgetedStores), ...names(peers)].map((subject) => ({
    subject,
    ...million,
  })),
  // Of our peers, one alone forgets keys to make room for others.
  ...[undefined, ...names(budgetedStores), '@fastify/rate-limit LocalStore'].map((subject) => ({
    subject,
    ...passing,
  })),
];

function isOurs({ subject }: LoopSample): boolean {
  return budgetedStores.some(({ name }) => name === subject);
}

/** What delays a run now and then is not what it does by itself. */
function middleOf(runs: readonly LoopSample[]): LoopSample {
  const middle = (of: (run: LoopSample) => number): number => median(runs.map(of));
  return {
    ...(runs[0] as LoopSample),
    longestMs: middle(({ longestMs }) => longestMs),
    longestCollectionMs: middle(({ longestCollectionMs }) => longestCollectionMs),
  };
}
