import type { Decision } from '../decision.ts';
import type { ErrorCode } from '../errors.ts';
import { type QuotaInput, toQuota } from '../quota-text.ts';
import type { Charge, Store, Subject, TakeMode } from '../store.ts';
import type { ManualClock } from './manual-clock.ts';

/** One thing that a store must do, and how it is proved. */
export type Rule = readonly [name: string, prove: (bench: Bench) => Promise<void>];

/** A whole minute, hour and day. The times of the cases are milliseconds since then. */
const START_MS: number = Date.UTC(2026, 0, 1);
export const NEVER: number = Number.POSITIVE_INFINITY;
export const SUBJECT: Subject = { policy: 'policy', key: 'key' };

/** A store and its clock, and what the cases ask of them. */
export class Bench {
  readonly store: Store;
  readonly clock: ManualClock;

  constructor(store: Store, clock: ManualClock) {
    this.store = store;
    this.clock = clock;
    this.at(0);
  }

  at(ms: number): void {
    this.clock.set(START_MS + ms);
  }

  /** Takes a group, and expects of each decision what is given of it. */
  async group(
    charges: readonly Charge[],
    expected: readonly Partial<Decision>[],
    mode: TakeMode = 'take',
  ): Promise<void> {
    const decisions = await this.store.take(charges, { mode });
    same(decisions.length, charges.length, 'the number of decisions');
    for (const [i, decision] of decisions.entries()) {
      const { policy, key, cost } = charges[i] as Charge;
      const atMs = decision.atMs - START_MS;
      const got = { ...decision, atMs, resetAtMs: decision.resetAtMs - START_MS };
      const what = `${mode} of ${cost} by policy ${policy} for ${key.slice(0, 40)} at ${atMs}`;
      for (const [field, value] of Object.entries(expected[i] ?? {})) {
        same(got[field as keyof Decision], value, `\`${field}\` of a ${what}`);
      }
    }
  }

  async take(quota: QuotaInput, cost: number, expected: Partial<Decision>): Promise<void> {
    await this.group([charge(quota, cost)], [expected]);
  }

  async force(quota: QuotaInput, cost: number, expected: Partial<Decision>): Promise<void> {
    await this.group([charge(quota, cost)], [expected], 'force');
  }

  async refund(quota: QuotaInput, cost: number, takenAt: number): Promise<void> {
    await this.store.refund([{ ...charge(quota, cost), atMs: START_MS + takenAt }]);
  }

  /** Expects a call to be refused, at once or by a promise. */
  async refused(charges: readonly Charge[], code: ErrorCode): Promise<void> {
    let got: unknown = 'no error';
    try {
      await this.store.take(charges);
    } catch (error) {
      got = (error as { code?: unknown }).code ?? error;
    }
    same(got, code, 'the code of the error');
  }
}

export function charge(quota: QuotaInput, cost: number, of: Partial<Charge> = {}): Charge {
  return { ...SUBJECT, quota: toQuota(quota), cost, ...of };
}

export function same(got: unknown, expected: unknown, what: string): void {
  if (!Object.is(got, expected)) {
    throw new Error(`Expected ${what} to be ${String(expected)}, got ${String(got)}`);
  }
}
