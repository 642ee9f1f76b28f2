import type { Decision } from '../decision.ts';
import { MemoryStore } from '../memory-store.ts';
import { type QuotaInput, toQuota } from '../quota-text.ts';
import type { Charge, Store, Subject, TakeMode } from '../store.ts';
import type { ManualClock } from './manual-clock.ts';

/** What the suite works with: a store that holds nothing yet, and the clock that it goes by. */
export interface ContractSetup {
  readonly store: Store;
  readonly clock: ManualClock;
}

/** One thing that a store must do. */
export interface ContractCase {
  readonly name: string;
  /** Rejects with an error that says what was expected and what was got. */
  readonly run: () => Promise<void>;
}

/**
 * What every store must do, as cases for any test runner. Each sets up a store of its own, and closes it.
 *
 * @example
 * for (const { name, run } of storeContract(() => {
 *   const clock = new ManualClock();
 *   return { clock, store: new MyStore({ clock }) };
 * })) {
 *   test(name, run);
 * }
 */
export function storeContract(
  setUp: () => ContractSetup | Promise<ContractSetup>,
): readonly ContractCase[] {
  return [...TIMELINES.map(timelineRule), ...RULES, ...AGREEMENTS].map(([name, prove]) => ({
    name,
    run: async () => {
      const { store, clock } = await setUp();
      try {
        await prove(new Bench(store, clock));
      } finally {
        await store.close();
      }
    },
  }));
}

type Rule = readonly [name: string, prove: (bench: Bench) => Promise<void>];

/** `[at, cost, allowed, remaining, retryAfterMs, resetAt, delayMs]`, times since the start. */
type Row = readonly [number, number, boolean, number, number, number, number];

const NEVER = Number.POSITIVE_INFINITY;
const HOUR = 3_600_000;
const SUBJECT: Subject = { policy: 'policy', key: 'key' };

/** A store and its clock, with what the cases ask of them in words. Times are milliseconds since the start. */
class Bench {
  readonly store: Store;
  readonly #clock: ManualClock;

  constructor(store: Store, clock: ManualClock) {
    this.store = store;
    this.#clock = clock;
    this.at(0);
  }

  at(ms: number): void {
    this.#clock.set(Bench.START_MS + ms);
  }

  /** A whole minute, hour and day. */
  static readonly START_MS = Date.UTC(2026, 0, 1);

  async group(charges: readonly Charge[], mode: TakeMode = 'take'): Promise<Decision[]> {
    const decisions = await this.store.take(charges, { mode });
    same(decisions.length, charges.length, 'the number of decisions');
    return decisions.map((decision) => ({ ...decision, ...sinceStart(decision) }));
  }

  async take(quota: QuotaInput, cost: number, mode: TakeMode = 'take'): Promise<Decision> {
    return (await this.group([charge('policy', quota, cost)], mode))[0] as Decision;
  }

  async refund(quota: QuotaInput, cost: number, takenAt: number): Promise<void> {
    const taken = charge('policy', quota, cost);
    await this.store.refund([{ ...taken, atMs: Bench.START_MS + takenAt }]);
  }
}

const TIMELINES: readonly (readonly [quota: string, ...rows: Row[]])[] = [
  [
    'fixed-window 3/1m',
    [40_000, 1, true, 2, 0, 60_000, 0],
    [40_000, 0, true, 2, 0, 60_000, 0],
    [50_000, 2, true, 0, 0, 60_000, 0],
    [59_999, 1, false, 0, 1, 60_000, 0],
    [59_999, 4, false, 0, NEVER, 60_000, 0],
    [60_000, 1, true, 2, 0, 120_000, 0],
  ],
  [
    'fixed-window 3/1m align=first-request',
    [7, 0, true, 3, 0, 7, 0],
    [10_000, 3, true, 0, 0, 70_000, 0],
    [69_999, 1, false, 0, 1, 70_000, 0],
    [80_000, 1, true, 2, 0, 140_000, 0],
  ],
  [
    'sliding-window-log 3/1m',
    [0, 1, true, 2, 0, 60_000, 0],
    [10_000, 2, true, 0, 0, 70_000, 0],
    [20_000, 1, false, 0, 40_000, 70_000, 0],
    [20_000, 2, false, 0, 50_000, 70_000, 0],
    [60_000, 1, true, 0, 0, 120_000, 0],
  ],
  [
    'sliding-window-counter 10/10s',
    [0, 10, true, 0, 0, 19_001, 0],
    [10_000, 1, false, 0, 1, 19_001, 0],
    [10_001, 1, true, 0, 0, 20_001, 0],
    [12_001, 2, true, 0, 0, 26_667, 0],
    [20_000, 8, false, 7, 1, 26_667, 0],
    [20_001, 8, true, 0, 0, 38_751, 0],
  ],
  [
    'token-bucket 10 3/7ms',
    [0, 10, true, 0, 0, 24, 0],
    [1, 1, false, 0, 2, 24, 0],
    [3, 1, true, 0, 0, 26, 0],
    [4, 11, false, 0, NEVER, 26, 0],
    [5, 1, true, 0, 0, 28, 0],
    [1_000_000, 10, true, 0, 0, 1_000_024, 0],
  ],
  [
    'leaky-bucket 4 3/1s',
    [0, 1, true, 3, 0, 334, 0],
    [0, 2, true, 1, 0, 1000, 334],
    [0, 1, true, 0, 0, 1334, 1000],
    [0, 1, false, 0, 334, 1334, 0],
    [334, 1, true, 0, 0, 1667, 1000],
    [334, 0, true, 0, 0, 1667, 0],
  ],
  ['leaky-bucket 4 3/1s shape=false', [0, 1, true, 3, 0, 334, 0], [0, 3, true, 0, 0, 1334, 0]],
  ['token-bucket 0 1/1s', [0, 0, false, 0, NEVER, 0, 0], [0, 1, false, 0, NEVER, 0, 0]],
];

const RULES: readonly Rule[] = [
  [
    'a peek answers what a take would, and changes nothing',
    async ({ group, take, at, ...bench }) => {
      void group;
    },
  ],
];

const AGREEMENTS: readonly Rule[] = [];

function timelineRule([quota, ...rows]: (typeof TIMELINES)[number]): Rule {
  return [
    `decides by its definition: ${quota}`,
    async (bench) => {
      for (const [at, cost, allowed, remaining, retryAfterMs, resetAtMs, delayMs] of rows) {
        bench.at(at);
        const decision = await bench.take(quota, cost);
        like(decision, { allowed, remaining, retryAfterMs, resetAtMs, delayMs }, `at ${at}, cost ${cost}`);
        like(decision, { limit: limitIn(quota), blocked: false, atMs: at }, `at ${at}`);
      }
    },
  ];
}
