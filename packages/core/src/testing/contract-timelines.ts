import { limitOf } from '../quota.ts';
import { toQuota } from '../quota-text.ts';
import { NEVER, type Rule } from './contract-bench.ts';

// Each algorithm decides by its definition, in timelines worked out by hand.

/** `[at, cost, allowed, remaining, retryAfterMs, resetAt, delayMs (0 if left out)]` */
type Row = readonly [number, number, boolean, number, number, number, number?];

interface Timeline {
  readonly quota: string;
  readonly rows: readonly Row[];
}

const TIMELINES: readonly Timeline[] = [
  {
    quota: 'fixed-window 3/1m',
    rows: [
      [40_000, 1, true, 2, 0, 60_000],
      [40_000, 0, true, 2, 0, 60_000],
      [50_000, 2, true, 0, 0, 60_000],
      [59_999, 1, false, 0, 1, 60_000],
      [59_999, 4, false, 0, NEVER, 60_000],
      [60_000, 1, true, 2, 0, 120_000],
    ],
  },
  {
    quota: 'fixed-window 3/1m align=first-request',
    rows: [
      [7, 0, true, 3, 0, 7],
      [10_000, 3, true, 0, 0, 70_000],
      [69_999, 1, false, 0, 1, 70_000],
      [80_000, 1, true, 2, 0, 140_000],
    ],
  },
  {
    quota: 'sliding-window-log 3/1m',
    rows: [
      [0, 1, true, 2, 0, 60_000],
      [10_000, 2, true, 0, 0, 70_000],
      [20_000, 1, false, 0, 40_000, 70_000],
      [20_000, 2, false, 0, 50_000, 70_000],
      [60_000, 1, true, 0, 0, 120_000],
    ],
  },
  {
    quota: 'sliding-window-counter 10/10s',
    rows: [
      [0, 10, true, 0, 0, 19_001],
      [10_000, 1, false, 0, 1, 19_001],
      [10_001, 1, true, 0, 0, 20_001],
      [12_001, 2, true, 0, 0, 26_667],
      [20_000, 8, false, 7, 1, 26_667],
      [20_001, 8, true, 0, 0, 38_751],
    ],
  },
  {
    quota: 'token-bucket 10 3/7ms',
    rows: [
      [0, 10, true, 0, 0, 24],
      [1, 1, false, 0, 2, 24],
      [3, 1, true, 0, 0, 26],
      [4, 11, false, 0, NEVER, 26],
      [5, 1, true, 0, 0, 28],
      [1_000_000, 10, true, 0, 0, 1_000_024],
    ],
  },
  {
    quota: 'leaky-bucket 4 3/1s',
    rows: [
      [0, 1, true, 3, 0, 334],
      [0, 2, true, 1, 0, 1000, 334],
      [0, 1, true, 0, 0, 1334, 1000],
      [0, 1, false, 0, 334, 1334],
      [334, 1, true, 0, 0, 1667, 1000],
      [334, 0, true, 0, 0, 1667],
    ],
  },
  {
    quota: 'leaky-bucket 4 3/1s shape=false',
    rows: [
      [0, 1, true, 3, 0, 334],
      [0, 3, true, 0, 0, 1334],
    ],
  },
  {
    quota: 'sliding-window-log 0/1m',
    rows: [
      [0, 0, false, 0, NEVER, 0],
      [0, 1, false, 0, NEVER, 0],
    ],
  },
  {
    // Products that leave 2^53. The window began 24 days before, and counts on until 259 ms before the next one's end.
    quota: 'sliding-window-counter 10000000/30d',
    rows: [[0, 10_000_000, true, 0, 0, 36 * 86_400_000 - 259]],
  },
];

function timelineRule({ quota, rows }: Timeline): Rule {
  return [
    `decides by its definition: ${quota}`,
    async (bench) => {
      const limit = limitOf(toQuota(quota));
      for (const [at, cost, allowed, remaining, retryAfterMs, resetAtMs, delayMs = 0] of rows) {
        bench.at(at);
        const answer = { allowed, limit, remaining, retryAfterMs, resetAtMs, delayMs };
        await bench.take(quota, cost, { ...answer, blocked: false, atMs: at });
      }
    },
  ];
}

export const TIMELINE_RULES: readonly Rule[] = TIMELINES.map(timelineRule);
