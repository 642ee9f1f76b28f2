import type { Budget } from './budget.ts';

/** What a benchmark found: its rows, and how they stand to what we want of ourselves. */
export interface Report<Row> {
  /** What the figures are, and how they came about. */
  readonly title: string;
  readonly rows: readonly Row[];
  readonly budgets: readonly Budget[];
  /** The rows as they are read: columns, then lines. */
  readonly table: { readonly columns: readonly string[]; readonly lines: readonly string[][] };
}
