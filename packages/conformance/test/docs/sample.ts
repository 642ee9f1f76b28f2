import { basename, dirname, join } from 'node:path';
import { type Block, blocksOf } from './markdown.ts';

/** A command line of a `console` block, and what it prints there. */
export interface Command {
  readonly line: string;
  readonly words: readonly string[];
  readonly expected: string;
}

/** A `ts` or `js` block: a whole program, with what the blocks after it say of it. */
export interface Sample {
  /** The document and the line where it begins. */
  readonly name: string;
  /** A name for a file to keep it in. */
  readonly file: string;
  readonly source: string;
  /** What it prints: the `text` block that follows it. */
  readonly output: string | undefined;
  /** What is asked of its server: the `curl` commands of `console` blocks before the next sample. */
  readonly requests: readonly Command[];
}

/** The samples of a document. */
export function samplesOf(path: string, markdown: string): Sample[] {
  const samples: { block: Block; next: Block | undefined; requests: Command[] }[] = [];
  const blocks = blocksOf(markdown);
  for (const [index, block] of blocks.entries()) {
    if (block.language === 'ts' || block.language === 'js') {
      samples.push({ block, next: blocks[index + 1], requests: [] });
    } else if (block.language === 'console') {
      const requests = commandsOf(block).filter(({ words }) => words[0] === 'curl');
      samples.at(-1)?.requests.push(...requests);
    }
  }
  return samples.map(({ block, next, requests }) => ({
    name: `${path}:${block.line}`,
    file: fileName(path, block),
    source: `${block.text}\n`,
    output: next?.language === 'text' ? next.text : undefined,
    requests,
  }));
}

/** The commands of a document's `console` blocks. */
export function sessionsOf(markdown: string): Command[] {
  return blocksOf(markdown)
    .filter(({ language }) => language === 'console')
    .flatMap(commandsOf);
}

/** The command lines of a document's `sh` and `console` blocks, in words. */
export function commandLinesOf(markdown: string): string[][] {
  const shell = blocksOf(markdown).filter(({ language }) => language === 'sh');
  const lines = shell.flatMap(({ text }) => text.split('\n')).map(wordsOf);
  const all = [...lines, ...sessionsOf(markdown).map(({ words }) => [...words])];
  return all.filter((words) => words.length > 0);
}

function commandsOf({ text }: Block): Command[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = '', ...printed] = part.split('\n');
      return { line, words: wordsOf(line), expected: printed.join('\n').trimEnd() };
    });
}

/** The words of a command line, without its quotes and its comment. */
function wordsOf(line: string): string[] {
  const words = line.replace(/(^|\s)#.*$/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g);
  return [...words].map(([, single, double, bare]) => single ?? double ?? bare ?? '');
}

/** Programs in JavaScript are modules, as the package's type says of those in TypeScript. */
function fileName(path: string, { language, line }: Block): string {
  const document = join(dirname(path), basename(path, '.md')).replaceAll(/[^\w-]/g, '-');
  return `${document}-${line}.${language === 'js' ? 'mjs' : 'ts'}`;
}
