import type { Budget } from './budget.ts';
import type { Machine } from './machine.ts';
import type { Report } from './report.ts';
import { formatTable } from './table.ts';

export function printReport(name: string, report: Report<unknown>, machine: Machine): void {
  const { title, table, budgets } = report;
  const { node, cpu, cores, load } = machine;
  const parts = [
    `## ${name}`,
    title,
    `Node.js ${node}, ${cores} × ${cpu}, load ${load}`,
    formatTable(table.columns, table.lines),
  ];
  if (budgets.length > 0) {
    parts.push(formatTable(['budget', 'at most', 'measured', ''], budgets.map(budgetLine)));
  }
  process.stdout.write(`${parts.join('\n\n')}\n\n`);
}

/** One object, with a member for each benchmark. */
export function printJson(
  machine: Machine,
  quick: boolean,
  reports: ReadonlyMap<string, Report<unknown>>,
): void {
  const found = Object.fromEntries(
    [...reports].map(([name, { title, rows, budgets }]) => [name, { title, rows, budgets }]),
  );
  process.stdout.write(`${JSON.stringify({ machine, quick, ...found }, null, 2)}\n`);
}

function budgetLine({ claim, atMost, measured, met }: Budget): string[] {
  const digits = atMost < 10 ? 2 : 0;
  return [claim, atMost.toFixed(digits), measured.toFixed(digits), met ? 'met' : 'not met'];
}
