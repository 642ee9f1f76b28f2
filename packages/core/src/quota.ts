import { type Duration, formatMilliseconds, toMilliseconds } from './duration.ts';
import { checkOptions, FloodgateError, invalid } from './errors.ts';

/** `limit` units in each window; windows follow the clock, or start at a key's first request. */
export interface FixedWindowQuota {
  readonly algorithm: 'fixed-window';
  readonly limit: number;
  readonly windowMs: number;
  /** Where windows start; `'clock'` (multiples of the window since 1970) where it is absent. */
  readonly align?: 'clock' | 'first-request';
  readonly blockMs?: number;
}

/** At most `limit` units in any span of one window. */
export interface SlidingWindowLogQuota {
  readonly algorithm: 'sliding-window-log';
  readonly limit: number;
  readonly windowMs: number;
  readonly blockMs?: number;
}

/** `limit` units a window, the window before weighed by how much of it still overlaps. */
export interface SlidingWindowCounterQuota {
  readonly algorithm: 'sliding-window-counter';
  readonly limit: number;
  readonly windowMs: number;
  readonly blockMs?: number;
}

/** A burst of `capacity` units, of which `refillRate` come back each interval, continuously. */
export interface TokenBucketQuota {
  readonly algorithm: 'token-bucket';
  readonly capacity: number;
  readonly refillRate: number;
  readonly intervalMs: number;
  readonly blockMs?: number;
}

/** A queue of `capacity` units, of which `leakRate` leave each interval. */
export interface LeakyBucketQuota {
  readonly algorithm: 'leaky-bucket';
  readonly capacity: number;
  readonly leakRate: number;
  readonly intervalMs: number;
  /** Whether an admitted request waits for its turn; true where it is absent. */
  readonly shape?: boolean;
  readonly blockMs?: number;
}

/** An algorithm with its numbers: plain data, valid by construction, every duration in whole milliseconds. */
export type Quota =
  | FixedWindowQuota
  | SlidingWindowLogQuota
  | SlidingWindowCounterQuota
  | TokenBucketQuota
  | LeakyBucketQuota;

interface BlockOption {
  /** A denied charge also blocks its subject for this long. */
  readonly blockFor?: Duration;
}

export interface WindowOptions extends BlockOption {
  /** Units in a window: a whole number; 0 denies everything. */
  readonly limit: number;
  readonly window: Duration;
}

export interface FixedWindowOptions extends WindowOptions {
  /** @default 'clock' */
  readonly align?: 'clock' | 'first-request';
}

export interface TokenBucketOptions extends BlockOption {
  /** The largest burst, in units: a whole number; 0 denies everything. */
  readonly capacity: number;
  /** Units that come back each interval: a whole number above 0. */
  readonly refillRate: number;
  /** The interval. @default '1s' */
  readonly per?: Duration;
}

export interface LeakyBucketOptions extends BlockOption {
  /** Units that the bucket holds: a whole number; 0 denies everything. */
  readonly capacity: number;
  /** Units that leave each interval: a whole number above 0. */
  readonly leakRate: number;
  /** The interval. @default '1s' */
  readonly per?: Duration;
  /** Whether an admitted request waits for its turn (`delayMs`), so that requests leave at a constant rate. @default true */
  readonly shape?: boolean;
}

/**
 * `limit` units in each window. Cheap and easy to explain; lets up to twice the limit pass around the edge of two
 * windows.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_QUOTA`
 */
export function fixedWindow(options: FixedWindowOptions): FixedWindowQuota {
  checkOptions(CODE, 'fixedWindow options', options, ['limit', 'window', 'align', 'blockFor']);
  const { align = 'clock' } = options;
  if (align !== 'clock' && align !== 'first-request') {
    throw invalid(CODE, 'align', "'clock' or 'first-request'", align);
  }
  return Object.freeze({
    algorithm: 'fixed-window',
    ...windowNumbers(options),
    ...(align === 'first-request' && { align }),
    ...blockNumbers(options),
  });
}

/**
 * At most `limit` units in any span of one window, exactly. Remembers the time of each admitted charge.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_QUOTA`
 */
export function slidingWindowLog(options: WindowOptions): SlidingWindowLogQuota {
  checkOptions(CODE, 'slidingWindowLog options', options, WINDOW_OPTIONS);
  return Object.freeze({
    algorithm: 'sliding-window-log',
    ...windowNumbers(options),
    ...blockNumbers(options),
  });
}

/**
 * `limit` units a window for steady traffic, without the burst at a window's edge, for two numbers a key. What the
 * shorthand `{ limit, window }` stands for.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_QUOTA`
 */
export function slidingWindowCounter(options: WindowOptions): SlidingWindowCounterQuota {
  checkOptions(CODE, 'slidingWindowCounter options', options, WINDOW_OPTIONS);
  return Object.freeze({
    algorithm: 'sliding-window-counter',
    ...windowNumbers(options),
    ...blockNumbers(options),
  });
}

/**
 * A burst of `capacity` units, refilled at `refillRate` units each interval, continuously.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_QUOTA`, also where `capacity` times the interval in milliseconds leaves
 *   the whole numbers that a double holds exactly (2^53)
 */
export function tokenBucket(options: TokenBucketOptions): TokenBucketQuota {
  const known = ['capacity', 'refillRate', 'per', 'blockFor'];
  checkOptions(CODE, 'tokenBucket options', options, known);
  const intervalMs = toMilliseconds(options.per === undefined ? 1000 : options.per, 'per', CODE);
  return Object.freeze({
    algorithm: 'token-bucket',
    capacity: bucketCapacity(options.capacity, intervalMs),
    refillRate: rate('refillRate', options.refillRate, intervalMs),
    intervalMs,
    ...blockNumbers(options),
  });
}

/**
 * A bucket of `capacity` units that leaks `leakRate` units each interval. An admitted request waits for its turn, so
 * that requests leave at a constant rate; with `shape: false` it only polices.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_QUOTA`, as {@link tokenBucket}
 */
export function leakyBucket(options: LeakyBucketOptions): LeakyBucketQuota {
  const known = ['capacity', 'leakRate', 'per', 'shape', 'blockFor'];
  checkOptions(CODE, 'leakyBucket options', options, known);
  const intervalMs = toMilliseconds(options.per === undefined ? 1000 : options.per, 'per', CODE);
  const { shape = true } = options;
  if (typeof shape !== 'boolean') throw invalid(CODE, 'shape', 'true or false', shape);
  return Object.freeze({
    algorithm: 'leaky-bucket',
    capacity: bucketCapacity(options.capacity, intervalMs),
    leakRate: rate('leakRate', options.leakRate, intervalMs),
    intervalMs,
    ...(!shape && { shape }),
    ...blockNumbers(options),
  });
}

/** Whether two quotas say the same, though they may have been made twice. */
export function isSameQuota(a: Quota, b: Quota): boolean {
  if (a === b) return true;
  if (a.algorithm !== b.algorithm || a.blockMs !== b.blockMs) return false;
  if (limitOf(a) !== limitOf(b) || periodOf(a) !== periodOf(b)) return false;
  switch (a.algorithm) {
    case 'fixed-window':
      return a.align === (b as FixedWindowQuota).align;
    case 'token-bucket':
      return a.refillRate === (b as TokenBucketQuota).refillRate;
    case 'leaky-bucket':
      return (
        a.leakRate === (b as LeakyBucketQuota).leakRate &&
        (a.shape === false) === ((b as LeakyBucketQuota).shape === false)
      );
    default:
      return true;
  }
}

/** The largest cost that a quota can ever admit: its limit, or its capacity. */
export function limitOf(quota: Quota): number {
  return 'limit' in quota ? quota.limit : quota.capacity;
}

/** The window of a window's quota, the interval of a bucket's, in milliseconds: what a state knows of its quota. */
export function periodOf(quota: Quota): number {
  return 'windowMs' in quota ? quota.windowMs : quota.intervalMs;
}

/** After how many milliseconds a state that has reached the limit is empty: a window, or the time to drain or refill. */
export function fillTimeOf(quota: Quota): number {
  if ('windowMs' in quota) return quota.windowMs;
  const rate = quota.algorithm === 'token-bucket' ? quota.refillRate : quota.leakRate;
  return Math.ceil((quota.capacity * quota.intervalMs) / rate);
}

/**
 * One process's part of a quota that `instances` processes share without asking one another: windows and capacities
 * divided and rounded up, a bucket's interval multiplied and its rate kept.
 */
export function divideQuota(quota: Quota, instances: number): Quota {
  if (instances === 1) return quota;
  if ('limit' in quota) return { ...quota, limit: Math.ceil(quota.limit / instances) };
  const capacity = Math.ceil(quota.capacity / instances);
  return { ...quota, capacity, intervalMs: quota.intervalMs * instances };
}

const CODE = 'FLOODGATE_INVALID_QUOTA';
const WINDOW_OPTIONS = ['limit', 'window', 'blockFor'];

function windowNumbers(options: WindowOptions): { limit: number; windowMs: number } {
  return {
    limit: wholeLimit('limit', options.limit),
    windowMs: toMilliseconds(options.window, 'window', CODE),
  };
}

function blockNumbers({ blockFor }: BlockOption): { blockMs?: number } {
  return blockFor === undefined ? {} : { blockMs: toMilliseconds(blockFor, 'blockFor', CODE) };
}

function wholeLimit(option: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw invalid(CODE, option, 'a whole number, 0 or more', value);
  }
  return value as number;
}

function bucketCapacity(value: unknown, intervalMs: number): number {
  const capacity = wholeLimit('capacity', value);
  if (!Number.isSafeInteger(capacity * intervalMs)) {
    const most = Math.floor(Number.MAX_SAFE_INTEGER / intervalMs);
    throw invalid(CODE, 'capacity', `at most ${most} with an interval of ${intervalMs} ms`, value);
  }
  return capacity;
}

function rate(option: string, value: unknown, intervalMs: number): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw new FloodgateError(
    CODE,
    invalid(CODE, option, 'a whole number above 0', value).message +
      suggestWholeRate(option, value, intervalMs),
  );
}

/** Half a unit a second is one unit in two seconds. */
function suggestWholeRate(option: string, value: unknown, intervalMs: number): string {
  if (typeof value !== 'number' || !(value > 0) || !Number.isFinite(value)) return '';
  for (let intervals = 2; intervals <= 1000; intervals += 1) {
    const units = value * intervals;
    if (Math.abs(units - Math.round(units)) < 1e-9 && Math.round(units) > 0) {
      const per = formatMilliseconds(intervals * intervalMs);
      return `; write \`${option}: ${Math.round(units)}, per: '${per}'\``;
    }
  }
  return '';
}
