import { parseArgs } from 'node:util';
import { FloodgateError, parseQuota, type Quota } from '@floodgate/express';

/** What the command line asks for. */
export interface Arguments {
  /** The log; undefined for standard input. */
  readonly file: string | undefined;
  readonly quota: Quota;
  /** How many of the most denied clients to list. */
  readonly top: number;
  readonly ipv6Prefix: number;
  readonly json: boolean;
}

/** The command line is wrong: its message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const USAGE = `Usage: pnpm replay [FILE] --quota QUOTA [--top N] [--ipv6-prefix BITS] [--json]

Says what a quota would have done to the requests of an access log in the combined
format: each goes through Express and its rate limit, at the time and from the client
that the log tells. Without FILE, or with -, the log is read from standard input.

  --quota QUOTA       by client, such as
                        '100/1m' (a sliding window counter)
                        'fixed-window 100/1m', 'sliding-window-log 100/1m',
                        'token-bucket 100 10/1s', 'leaky-bucket 20 5/1s'
  --top N             list the N most denied clients (10)
  --ipv6-prefix BITS  how many bits of an IPv6 address are one client (56)
  --json              print one object instead of tables
  --help              print this
`;

/**
 * Reads a command line.
 *
 * @throws UsageError
 */
export function readArguments(args: readonly string[]): Arguments | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  const [file, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`Expected one FILE, got ${positionals.join(', ')}`);
  return {
    file: file === '-' ? undefined : file,
    quota: readQuota(values.quota),
    top: readNumber('--top', values.top, 0, Number.MAX_SAFE_INTEGER),
    ipv6Prefix: readNumber('--ipv6-prefix', values['ipv6-prefix'], 1, 128),
    json: values.json,
  };
}

function parse(args: readonly string[]) {
  try {
    // pnpm hands on the `--` that npm wants before a script's arguments.
    const given = args[0] === '--' ? args.slice(1) : [...args];
    return parseArgs({ args: given, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

const OPTIONS = {
  quota: { type: 'string' },
  top: { type: 'string', default: '10' },
  'ipv6-prefix': { type: 'string', default: '56' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

function readQuota(text: string | undefined): Quota {
  if (text === undefined) throw new UsageError("Expected --quota, such as --quota '100/1m'");
  try {
    return parseQuota(text);
  } catch (error) {
    if (error instanceof FloodgateError) throw new UsageError(error.message);
    throw error;
  }
}

function readNumber(option: string, text: string, least: number, most: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
  throw new UsageError(`Expected ${option} to be a whole number, ${range}, got ${text}`);
}
