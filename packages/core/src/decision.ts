/**
 * What one policy answers to one charge. Times are whole milliseconds.
 *
 * @example
 * // 100 units a minute by a fixed window, asked for one unit at 12:00:40 when all are used:
 * { allowed: false, limit: 100, remaining: 0, retryAfterMs: 20_000, resetAtMs: Date.parse('…T12:01:00Z'),
 *   delayMs: 0, blocked: false, atMs: Date.parse('…T12:00:40Z') }
 */
export interface Decision {
  /** Whether this policy has room for the charge. In a denied group it can be true: then nothing was charged. */
  readonly allowed: boolean;
  /** The quota's limit, or its capacity, in units. */
  readonly limit: number;
  /** The largest whole cost that would still be admitted at this instant, after this charge; never below 0. */
  readonly remaining: number;
  /**
   * 0 if allowed; else the least whole number of milliseconds, counted from `atMs`, after which this cost is admitted
   * if nothing else comes; `Infinity` if it never is (a cost above the limit).
   */
  readonly retryAfterMs: number;
  /**
   * The least time, not before `atMs`, from which `remaining` is the full limit if nothing else comes. Of a fixed
   * window that follows the clock: its end, always.
   */
  readonly resetAtMs: number;
  /** How long to wait before serving an admitted request, so that a leaky bucket's requests leave at its rate; else 0. */
  readonly delayMs: number;
  /** Whether the subject is blocked, by hand or by the quota's `blockFor`. */
  readonly blocked: boolean;
  /** When the decision was made, by the store's clock: for one subject it never goes back. */
  readonly atMs: number;
}
