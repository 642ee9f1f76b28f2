import { formatMilliseconds } from './duration.ts';
import { FloodgateError, invalid } from './errors.ts';
import {
  fixedWindow,
  leakyBucket,
  type Quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
  type WindowOptions,
} from './quota.ts';

/**
 * What may stand wherever a quota is expected: a quota, its text form, or the shorthand for a sliding window counter.
 */
export type QuotaInput = Quota | string | WindowOptions;

/**
 * Reads the text form of a quota, for configuration and command lines:
 *
 * - `'100/1m'` or `'sliding-window-counter 100/1m'`
 * - `'fixed-window 100/1m'`, with `align=first-request` after it or not
 * - `'sliding-window-log 100/1m'`
 * - `'token-bucket 100 10/1s'`: capacity, then refill rate and interval
 * - `'leaky-bucket 20 5/1s'`: capacity, then leak rate and interval; with `shape=false` after it or not
 *
 * and `block=15m` after any of them.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_QUOTA`
 */
export function parseQuota(text: string): Quota {
  if (typeof text !== 'string') throw invalid(CODE, 'quota', EXPECTATION, text);
  try {
    return read(text);
  } catch (error) {
    if (!(error instanceof FloodgateError)) throw error;
    throw new FloodgateError(CODE, error.message + suggestTextForm(text));
  }
}

function read(text: string): Quota {
  const words = text.trim().split(/\s+/);
  const algorithm = /^[a-z-]+$/.test(words[0] as string) ? words.shift() : 'sliding-window-counter';
  const bucketSize = algorithm?.endsWith('-bucket') === true ? words.shift() : undefined;
  const [units, duration] = splitRate(words.shift(), text);
  const options = readOptions(words, text);
  const block = options.take('block');
  const blockFor = block === undefined ? {} : { blockFor: block };
  try {
    const quota = build();
    options.checkAllTaken();
    return quota;
  } catch (error) {
    if (!(error instanceof FloodgateError)) throw error;
    throw new FloodgateError(CODE, `${error.message}, in the quota \`${text}\``);
  }

  function build(): Quota {
    switch (algorithm) {
      case 'fixed-window': {
        const align = options.take('align') as 'clock' | undefined;
        const window = { limit: toNumber(units), window: duration };
        return fixedWindow({ ...window, ...(align !== undefined && { align }), ...blockFor });
      }
      case 'sliding-window-log':
        return slidingWindowLog({ limit: toNumber(units), window: duration, ...blockFor });
      case 'sliding-window-counter':
        return slidingWindowCounter({ limit: toNumber(units), window: duration, ...blockFor });
      case 'token-bucket':
        return tokenBucket({
          capacity: toNumber(bucketSize),
          refillRate: toNumber(units),
          per: duration,
          ...blockFor,
        });
      case 'leaky-bucket': {
        const shape = options.take('shape');
        return leakyBucket({
          capacity: toNumber(bucketSize),
          leakRate: toNumber(units),
          per: duration,
          ...(shape !== undefined && { shape: readBoolean(shape) }),
          ...blockFor,
        });
      }
      default:
        throw invalid(CODE, 'algorithm', ALGORITHMS.join(', '), algorithm);
    }
  }
}

/**
 * Writes a quota as {@link parseQuota} reads it, without loss.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_QUOTA`
 */
export function formatQuota(input: QuotaInput): string {
  const quota = toQuota(input);
  const words =
    'windowMs' in quota
      ? [`${quota.limit}/${formatMilliseconds(quota.windowMs)}`]
      : [
          `${quota.capacity}`,
          `${quota.algorithm === 'token-bucket' ? quota.refillRate : quota.leakRate}/${formatMilliseconds(quota.intervalMs)}`,
        ];
  if (quota.algorithm !== 'sliding-window-counter') words.unshift(quota.algorithm);
  if (quota.algorithm === 'fixed-window' && quota.align === 'first-request') {
    words.push('align=first-request');
  }
  if (quota.algorithm === 'leaky-bucket' && quota.shape === false) words.push('shape=false');
  if (quota.blockMs !== undefined) words.push(`block=${formatMilliseconds(quota.blockMs)}`);
  return words.join(' ');
}

/**
 * A quota from whatever may stand for one. Plain data that did not come from a quota's function (from a file of
 * configuration, say) is checked as if it had.
 *
 * @param option where it stands, for the error that says what is wrong with it
 * @throws FloodgateError `FLOODGATE_INVALID_QUOTA`
 */
export function toQuota(input: unknown, option = 'quota'): Quota {
  try {
    return quotaOf(input);
  } catch (error) {
    if (!(error instanceof FloodgateError) || option === 'quota') throw error;
    throw new FloodgateError(CODE, `${error.message}, in \`${option}\``);
  }
}

function quotaOf(input: unknown): Quota {
  if (typeof input === 'string') return parseQuota(input);
  if (typeof input !== 'object' || input === null) throw invalid(CODE, 'quota', EXPECTATION, input);
  if (!('algorithm' in input)) return slidingWindowCounter(input as WindowOptions);
  const { algorithm, windowMs, intervalMs, blockMs, ...numbers } = input as Record<string, unknown>;
  const options = {
    ...numbers,
    ...(windowMs !== undefined && { window: windowMs }),
    ...(intervalMs !== undefined && { per: intervalMs }),
    ...(blockMs !== undefined && { blockFor: blockMs }),
  };
  const make = Object.hasOwn(FACTORIES, algorithm as string)
    ? FACTORIES[algorithm as Quota['algorithm']]
    : undefined;
  if (make === undefined) throw invalid(CODE, 'algorithm', ALGORITHMS.join(', '), algorithm);
  return make(options as never);
}

const CODE = 'FLOODGATE_INVALID_QUOTA';
const EXPECTATION =
  "a quota, a text such as '100/1m' or 'token-bucket 100 10/1s', or { limit, window }";

const FACTORIES = {
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingWindowLog,
  'sliding-window-counter': slidingWindowCounter,
  'token-bucket': tokenBucket,
  'leaky-bucket': leakyBucket,
} as const;

const ALGORITHMS = Object.keys(FACTORIES);

/** Rates as they are said (`5/minute`, `5 per minute`, `5/1 hour`) are close to the text form, but not it. */
function suggestTextForm(text: string): string {
  const meant = text
    .replace(/\s+/g, ' ')
    .replace(/(?: ?\/ ?| per )([\d.]*) ?([a-z]+)/i, (_, count, unit) => `/${count || 1}${unit}`);
  try {
    return `; write \`${formatQuota(read(meant))}\``;
  } catch {
    return '';
  }
}

function splitRate(word: string | undefined, text: string): [units: string, duration: string] {
  const [units, duration, ...rest] = word?.split('/') ?? [];
  if (!units || !duration || rest.length > 0) throw invalid(CODE, 'quota', EXPECTATION, text);
  return [units, duration];
}

function readOptions(
  words: readonly string[],
  text: string,
): { take(name: string): string | undefined; checkAllTaken(): void } {
  const options = new Map<string, string>();
  for (const word of words) {
    const [, name, value] = /^([a-z]+)=(\S+)$/.exec(word) ?? [];
    if (name === undefined || value === undefined || options.has(name)) {
      throw invalid(
        CODE,
        'quota',
        `${EXPECTATION}, then options such as block=15m, once each`,
        text,
      );
    }
    options.set(name, value);
  }
  return {
    take(name) {
      const value = options.get(name);
      options.delete(name);
      return value;
    },
    checkAllTaken() {
      for (const name of options.keys()) {
        throw invalid(CODE, 'quota', 'an algorithm with only options of its own', name);
      }
    },
  };
}

/** A number in decimal; anything else as it is, for the quota's own check to name in its error. */
function toNumber(text: string | undefined): number {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : (text as never);
}

function readBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw invalid(CODE, 'shape', 'true or false', text);
  return text === 'true';
}
