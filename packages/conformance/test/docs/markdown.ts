/** A fenced block of a document. */
export interface Block {
  /** What stands after the fence: `ts`, `js`, `text`, `console`, `sh`, `json`. */
  readonly language: string;
  readonly text: string;
  /** The line of its opening fence, counted from 1. */
  readonly line: number;
}

/** A relative link's target, or that of a link into this repository on GitHub, by its path from the root. */
export interface Link {
  readonly target: string;
  readonly line: number;
}

/** The fenced blocks of a document, in their order. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of markdown.split('\n').entries()) {
    const fence = /^```(\S*)/.exec(line);
    if (open === undefined) {
      if (fence !== null) open = { language: fence[1] ?? '', line: index + 1, lines: [] };
    } else if (fence !== null) {
      blocks.push({ language: open.language, text: open.lines.join('\n'), line: open.line });
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  if (open !== undefined) throw new Error(`The block at line ${open.line} has no end`);
  return blocks;
}

/** The targets of a document's links, in its prose. */
export function linksOf(markdown: string): Link[] {
  return proseOf(markdown).flatMap((line, index) =>
    [...line.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => ({
      target: target as string,
      line: index + 1,
    })),
  );
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(markdown: string): string[] {
  const headings = proseOf(markdown).flatMap((line) => /^#+ (.+)$/.exec(line)?.[1] ?? []);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The rows of all tables in a document, cell by cell, without the backquotes of code. */
export function tableRowsOf(markdown: string): string[][] {
  return proseOf(markdown)
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')));
}

/** The lines of a document; those in fenced blocks are empty. */
function proseOf(markdown: string): string[] {
  let isFenced = false;
  return markdown.split('\n').map((line) => {
    if (line.startsWith('```')) isFenced = !isFenced;
    return isFenced ? '' : line;
  });
}
