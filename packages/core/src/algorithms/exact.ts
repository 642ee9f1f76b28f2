// Whole-number arithmetic for products that may leave the numbers that a double holds exactly (a limit of ten million
// a month, in milliseconds, is 2.6e16). Below 2^53 the quotient of two whole numbers, rounded to a double and then to a
// whole number, is exact: a quotient that is not whole is at least 1/divisor away from one, which is more than the
// rounding can move it.

/** `floor(a * b / divisor)` of whole numbers, exactly. */
export function multiplyDivideFloor(a: number, b: number, divisor: number): number {
  const product = a * b;
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / divisor);
  return Number((BigInt(a) * BigInt(b)) / BigInt(divisor));
}

/** `ceil(a * b / divisor)` of whole numbers, exactly. */
export function multiplyDivideCeil(a: number, b: number, divisor: number): number {
  const product = a * b;
  if (product <= Number.MAX_SAFE_INTEGER) return Math.ceil(product / divisor);
  return Number((BigInt(a) * BigInt(b) + BigInt(divisor) - 1n) / BigInt(divisor));
}

/** When the clock-aligned window that holds `atMs` began. A quarter of the time that `%` takes for doubles. */
export function windowStart(atMs: number, windowMs: number): number {
  return Math.floor(atMs / windowMs) * windowMs;
}

/** `a + b`, held at 2^53 - 1: a debt beyond that stays as large as a number can be. */
export function addUpToSafe(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}
