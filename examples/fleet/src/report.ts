import Table from 'cli-table3';
import type { Answer } from './client.ts';
import { NAMES } from './fleet.ts';

export interface ReportOptions {
  /** The process that was killed, and how many requests were sent before. @default none */
  readonly lost?: { readonly process: string; readonly after: number };
}

/** Who answered what, by process and together, and what the client was told to have left. */
export function report(answers: readonly Answer[], { lost }: ReportOptions = {}): string {
  const hasClients = new Set(answers.map(({ client }) => client)).size > 1;
  const table = new Table({
    head: ['', ...(hasClients ? ['Clients'] : []), 'Requests', 'Admitted'],
    colAligns: ['left', 'right', 'right', 'right'],
    // Plain, since what is printed may go to a file.
    style: { head: [], border: [], compact: true },
  });
  const addRow = (title: string, rows: readonly Answer[]) => {
    const clients = new Set(rows.map(({ client }) => client)).size;
    const admitted = rows.filter((answer) => answer.admitted).length;
    table.push([title, ...(hasClients ? [clients] : []), rows.length, admitted]);
  };
  for (const name of NAMES) {
    const title = `process ${name}${name === lost?.process ? ' (lost)' : ''}`;
    const rows = answers.filter(({ process }) => process === name);
    addRow(title, rows);
  }
  addRow('together', answers);
  const told = hasClients ? '' : `Left, as the client is told: ${toldBy(answers, lost?.after)}\n`;
  return `${table}\n${told}`;
}

/** The numbers around the loss of a process, or the first ones. */
function toldBy(answers: readonly Answer[], loss?: number): string {
  const left = (from: number, to: number) => {
    const told = answers.slice(from, to);
    return told.map((answer) => answer.left).join(' ');
  };
  if (loss === undefined) return `${left(0, 9)} …`;
  return `… ${left(loss - 3, loss)}, and after the loss ${left(loss, loss + 3)} …`;
}
