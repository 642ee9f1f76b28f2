import ms from 'ms';
import { type ErrorCode, invalid } from './errors.ts';

/** A length of time: whole milliseconds, or a text such as `'30s'`, `'1m'`, `'1 hour'`, `'1d'`. */
export type Duration = number | string;

/** No window, interval or block is longer than this (some 31,000 years), so that times to come stay exact numbers. */
const LONGEST_MS = 1e15;

const EXPECTATION =
  "a duration: whole milliseconds above 0, or a text such as '30s', '1m', '1 hour'";

/** Reads a duration above 0 as whole milliseconds; throws an error with `code` that names `option`. */
export function toMilliseconds(
  value: unknown,
  option: string,
  code: ErrorCode = 'FLOODGATE_INVALID_OPTION',
): number {
  const milliseconds = typeof value === 'string' ? fromText(value) : value;
  if (!Number.isSafeInteger(milliseconds) || (milliseconds as number) <= 0) {
    throw invalid(code, option, EXPECTATION, value);
  }
  if ((milliseconds as number) > LONGEST_MS) {
    throw invalid(code, option, `at most ${LONGEST_MS} ms`, value);
  }
  return milliseconds as number;
}

const UNITS_MS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** Writes whole milliseconds in the largest unit that loses nothing: `90000` is `'90s'`. */
export function formatMilliseconds(milliseconds: number): string {
  const [unit, unitMs] = UNITS_MS.find(([, unitMs]) => milliseconds % unitMs === 0) ?? ['ms', 1];
  return `${milliseconds / unitMs}${unit}`;
}

function fromText(text: string): number {
  // `ms` takes a bare number for milliseconds and has an upper bound on the length of a text; we ask for a unit.
  if (text.length > 50 || !/[a-z]\s*$/i.test(text)) return Number.NaN;
  const milliseconds: number | undefined = ms(text as ms.StringValue);
  if (milliseconds === undefined) return Number.NaN;
  // '4.35s' is 4350 ms, whatever a product of doubles says of it; a true fraction of a millisecond stays one.
  const whole = Math.round(milliseconds);
  return Math.abs(milliseconds - whole) < 1e-6 ? whole : milliseconds;
}
