/** Lines of text in columns, as Markdown: the first column to the left, all others to the right. */
export function formatTable(
  columns: readonly string[],
  lines: readonly (readonly string[])[],
): string {
  const widths = columns.map((name, column) =>
    Math.max(3, name.length, ...lines.map((line) => (line[column] as string).length)),
  );
  const format = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => pad(cell, widths[column] as number, column)).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [format(columns), format(rule), ...lines.map(format)].join('\n');
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
