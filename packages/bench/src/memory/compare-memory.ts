import { budget } from '../budget.ts';
import type { Report } from '../report.ts';
import { runInChild } from '../run-in-child.ts';
import type { MemorySample } from './measure-memory.ts';
import { memorySubjects } from './memory-subjects.ts';

/** How much memory a key takes. */
export async function compareMemory(quick: boolean): Promise<Report<MemorySample>> {
  const keyCount = quick ? 10_000 : 1_000_000;
  const rows: MemorySample[] = [];
  for (const { name } of memorySubjects) {
    rows.push(await runInChild('measureMemory', { subject: name, keyCount }, ['--expose-gc']));
  }
  return {
    title: `Bytes for each of ${keyCount.toLocaleString('en')} keys, beyond the key's own string.`,
    rows,
    budgets: memorySubjects.flatMap(({ name, atMost }, index) =>
      atMost === undefined || quick
        ? []
        : [budget(`${name}: bytes per key`, atMost, (rows[index] as MemorySample).bytesPerKey)],
    ),
    table: {
      columns: ['', 'bytes per key'],
      lines: rows.map(({ subject, bytesPerKey }) => [subject, bytesPerKey.toFixed(0)]),
    },
  };
}
