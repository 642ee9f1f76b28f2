/**
 * Every code that an error of Floodgate can carry, in all packages. `docs/errors.md` has a heading for each.
 */
export const ERROR_CODES = [
  'FLOODGATE_INVALID_OPTION',
  'FLOODGATE_INVALID_QUOTA',
  'FLOODGATE_INVALID_CHARGE',
  'FLOODGATE_DUPLICATE_SUBJECT',
  'FLOODGATE_UNKNOWN_POLICY',
  'FLOODGATE_NEVER_ADMITTED',
  'FLOODGATE_WAIT_TOO_LONG',
  'FLOODGATE_STORE_FAILED',
  'FLOODGATE_STORE_CLOSED',
  'FLOODGATE_NO_KEY',
  'FLOODGATE_UNKNOWN_PLAN',
  'FLOODGATE_RATE_LIMITED',
  'FLOODGATE_RATE_LIMITER_UNAVAILABLE',
] as const;

/** One of {@link ERROR_CODES}. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * The one class of error that Floodgate throws. Compare `error.code`, not the class or the message: a program may
 * hold two copies of a package (one imported, one required), and messages may be reworded.
 */
export class FloodgateError extends Error {
  override readonly name = 'FloodgateError';
  readonly code: ErrorCode;
  /** Of `FLOODGATE_WAIT_TOO_LONG` and `FLOODGATE_NEVER_ADMITTED`: how long the wait would be, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options?: { readonly cause?: unknown; readonly retryAfterMs?: number },
  ) {
    super(message, options);
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** Whether an error is one of ours, of whichever copy of this package. */
export function isFloodgateError(error: unknown): error is FloodgateError {
  return (
    error instanceof Error &&
    (ERROR_CODES as readonly unknown[]).includes((error as Partial<FloodgateError>).code)
  );
}

/**
 * What was thrown, as something that frameworks take for an error: they take nothing, and some texts, for a sign to go
 * on.
 */
export function toError(thrown: unknown): object {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  return new FloodgateError(
    'FLOODGATE_INVALID_OPTION',
    `Expected a function in an option to throw an error, got ${describe(thrown)}`,
    { cause: thrown },
  );
}

/** What was thrown, in words: which need not be an error, nor anything that has words. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return typeof thrown === 'string' ? thrown : describe(thrown);
}

/**
 * The error for a value that is not what it should be. It names the option, what was expected and what was got.
 *
 * @example
 * invalid('FLOODGATE_INVALID_QUOTA', 'limit', 'a whole number, 0 or more', -1).message
 * // 'Expected `limit` to be a whole number, 0 or more, got `-1`'
 */
export function invalid(
  code: ErrorCode,
  option: string,
  expectation: string,
  got: unknown,
): FloodgateError {
  return new FloodgateError(
    code,
    `Expected \`${option}\` to be ${expectation}, got ${describe(got)}`,
  );
}

/** Throws unless `value` is an object whose every own property is one of `known`. */
export function checkOptions(
  code: ErrorCode,
  what: string,
  value: unknown,
  known: readonly string[],
): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(code, what, `an object with ${quoteList(known)}`, value);
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) {
      throw new FloodgateError(
        code,
        `Expected \`${what}\` to have only ${quoteList(known)}, got \`${name}\``,
      );
    }
  }
}

/** A value as a message shows it: short, and never a secret's whole length. */
function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `\`${shorten(JSON.stringify(value))}\``;
    case 'bigint':
      return `\`${value}n\``;
    case 'function':
      return 'a function';
    case 'object':
      if (value === null) return '`null`';
      return Array.isArray(value) ? 'an array' : `an object${describeKeys(value)}`;
    default:
      return `\`${String(value)}\``;
  }
}

function describeKeys(value: object): string {
  const keys = Object.keys(value);
  return keys.length === 0 ? '' : ` with ${shorten(quoteList(keys))}`;
}

function quoteList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
