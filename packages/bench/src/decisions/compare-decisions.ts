import type { Report } from '../report.ts';
import { runInChild } from '../run-in-child.ts';
import type { CompareInput, Sample } from './compare.ts';
import { judgeLimiters, judgeStores } from './judge.ts';
import { type ComparisonName, comparisons } from './subjects.ts';
import { tableOf } from './table-of.ts';

/** How long a decision takes: floors, ours and peers, with one key, ten thousand and a million. */
export async function compareDecisions(
  comparison: ComparisonName,
  quick: boolean,
): Promise<Report<Sample>> {
  const subjects = comparisons[comparison].map(({ name }) => name);
  const samples: Sample[] = [];
  for (const size of quick ? QUICK : FULL) {
    // Code that is compiled for one subject alone is what its own server would run.
    const groups = quick ? [subjects] : subjects.map((name) => [name]);
    for (const group of groups) {
      samples.push(...(await runInChild('compare', { subjects: group, ...size })));
    }
  }
  const judge = comparison === 'store' ? judgeStores : judgeLimiters;
  return {
    title: quick ? QUICK_TITLE : TITLE,
    rows: samples,
    budgets: judge(samples),
    table: tableOf(subjects, samples),
  };
}

const TITLE =
  'Processor time of one decision in ns, and its ratio to the bucket in a Map and a Float64Array that takes turns ' +
  'with it. One process for each subject and number of keys, so that its code is compiled for it alone.';
const QUICK_TITLE =
  'A quick look: all subjects in one process, so that shared code is compiled for all of them together, and too ' +
  'few rounds to trust.';

type Size = Omit<CompareInput, 'subjects'>;

const FULL: readonly Size[] = [
  { keyCount: 1, rounds: 30, batches: 16 },
  { keyCount: 10_000, rounds: 30, batches: 16 },
  { keyCount: 1_000_000, rounds: 12, batches: 8 },
];
const QUICK: readonly Size[] = [
  { keyCount: 1, rounds: 3, batches: 1 },
  { keyCount: 10_000, rounds: 3, batches: 1 },
];
