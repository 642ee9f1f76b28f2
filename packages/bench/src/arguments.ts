import { parseArgs } from 'node:util';

const BENCHMARKS = ['store', 'limiter', 'memory', 'loop', 'http'] as const;

export type BenchmarkName = (typeof BENCHMARKS)[number];

export interface Arguments {
  readonly benchmarks: readonly BenchmarkName[];
  /** Print JSON in place of tables. */
  readonly json: boolean;
  /** A look at whether everything runs, not at how fast. */
  readonly quick: boolean;
}

export const USAGE: string = `pnpm bench [${BENCHMARKS.join('|')}] [--json] [--quick]`;

/** @throws where an argument is not one of {@link USAGE} */
export function readArguments(args: readonly string[]): Arguments {
  const { positionals, values } = parseArgs({
    // pnpm hands on the `--` with which its user kept options from it.
    args: args.filter((arg) => arg !== '--'),
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
    },
  });
  const benchmarks = positionals.map((name) => {
    const known = BENCHMARKS.find((benchmark) => benchmark === name);
    if (known === undefined) throw new Error(`There is no benchmark \`${name}\``);
    return known;
  });
  return { benchmarks: benchmarks.length > 0 ? benchmarks : BENCHMARKS, ...values };
}
