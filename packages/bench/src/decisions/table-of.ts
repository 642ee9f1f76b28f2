import type { Sample } from './compare.ts';
import { sizeName } from './size-name.ts';

/** A line for each subject; two columns, ns and ratio, for each number of keys and outcome. */
export function tableOf(
  subjects: readonly string[],
  samples: readonly Sample[],
): { columns: string[]; lines: string[][] } {
  const columns = [...new Set(samples.map(headOf))];
  const lines = subjects.map((subject) => {
    const own = samples.filter((sample) => sample.subject === subject);
    return [subject, ...columns.map((head) => cell(own.find((sample) => headOf(sample) === head)))];
  });
  return { columns: ['', ...columns], lines };
}

function headOf({ keys, outcome }: Sample): string {
  return `${sizeName(keys)}, ${outcome}`;
}

function cell(sample: Sample | undefined): string {
  return sample === undefined ? '' : `${sample.ns.toFixed(0)} (${sample.ratio.toFixed(2)})`;
}
