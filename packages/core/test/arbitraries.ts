import fc from 'fast-check';
import {
  type Charge,
  fillTimeOf,
  fixedWindow,
  leakyBucket,
  limitOf,
  type Quota,
  slidingWindowCounter,
  slidingWindowLog,
  type TakeMode,
  tokenBucket,
} from '../src/index.ts';
import type { Step } from './timelines.ts';

/** The one key of the random timelines. */
export const KEY = 'key';

/** Quotas so small that a timeline of some steps fills and empties them many times. */
export const quotas: fc.Arbitrary<Quota> = quotasOf({
  limits: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 8 }) },
    { weight: 1, arbitrary: fc.constant(0) },
  ),
  rates: fc.integer({ min: 1, max: 13 }),
  times: fc.constantFrom(1, 7, 10, 50, 100),
  blocks: fc.constantFrom(undefined, undefined, undefined, 5, 30, 200),
});

/** Without a limit of 0, and without blocks: for what is said of these apart. */
export const plainQuotas: fc.Arbitrary<Quota> = quotas
  .filter((quota) => limitOf(quota) > 0)
  .map(({ blockMs: _, ...quota }) => quota);

export const costs: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(1) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 9 }) },
);

const MODES: readonly TakeMode[] = [...Array<TakeMode>(8).fill('take'), 'peek', 'force'];

const MOST = Number.MAX_SAFE_INTEGER;
const DAY = 86_400_000;

/** Quotas as large as they may be, with costs and delays that suit them. */
export const largeQuotas: fc.Arbitrary<{
  readonly quota: Quota;
  readonly costs: fc.Arbitrary<number>;
  readonly delays: fc.Arbitrary<number>;
}> = fc
  .oneof(
    quotasOf({
      limits: fc.oneof(fc.constant(10_000_000), fc.integer({ min: 1, max: MOST })),
      times: fc.oneof(fc.constantFrom(30 * DAY, 365 * DAY), fc.integer({ min: 1, max: 1e13 })),
      rates: fc.constant(1),
      blocks: fc.constant(undefined),
      buckets: false,
    }),
    quotasOf({
      limits: fc.integer({ min: 1, max: 1e8 }),
      times: fc.constantFrom(1, 1000, DAY),
      rates: fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: MOST })),
      blocks: fc.constant(undefined),
    }),
  )
  .map((quota) => {
    const part = (n: number) => fc.integer({ min: 1, max: 20 }).map((k) => Math.ceil(n / k));
    return {
      quota,
      costs: fc.oneof(
        fc.constant(1),
        fc.integer({ min: 0, max: limitOf(quota) }),
        part(limitOf(quota)),
      ),
      delays: fc.oneof(fc.constant(0), fc.constant(1), part(Math.min(fillTimeOf(quota), 1e13))),
    };
  });

/** How time goes on: mostly a little, at times by windows; with `backwards`, back as well. */
export function smallDelays({ backwards }: { backwards: boolean }): fc.Arbitrary<number> {
  const ahead = [
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 12 }) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 150 }) },
    { weight: 1, arbitrary: fc.constantFrom(1_000, 100_000) },
  ];
  const back = [
    { weight: 2, arbitrary: fc.integer({ min: -60, max: -1 }) },
    { weight: 2, arbitrary: fc.integer({ min: -700, max: -1 }) },
    { weight: 1, arbitrary: fc.constantFrom(-1_000, -100_000) },
  ];
  return fc.oneof(...(backwards ? [...ahead, ...back] : ahead));
}

/** One call: mostly a take, and refunds, blocks and resets of what was taken. */
export function steps(options: {
  readonly charges: fc.Arbitrary<readonly Charge[]>;
  readonly policies?: readonly string[];
  readonly backwards: boolean;
  readonly delays?: fc.Arbitrary<number>;
  readonly costs?: fc.Arbitrary<number>;
  readonly modes?: readonly TakeMode[];
}): fc.Arbitrary<Step> {
  const { charges, policies = ['policy-0'], backwards } = options;
  const delays = options.delays ?? smallDelays({ backwards });
  const afterMs =
    backwards && options.delays
      ? fc.tuple(delays, fc.constantFrom(1, 1, 1, -1)).map(([ms, sign]) => ms * sign)
      : delays;
  const policy = fc.constantFrom(...policies);
  const mode = fc.constantFrom(...(options.modes ?? MODES));
  const cost = options.costs ?? fc.integer({ min: 0, max: 9 });
  return fc.oneof(
    {
      weight: 16,
      arbitrary: fc.record({ afterMs, call: fc.constant('take' as const), mode, charges }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        afterMs,
        call: fc.constant('refund' as const),
        back: fc.nat({ max: 4 }),
        cost,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        afterMs,
        call: fc.constant('block' as const),
        policy,
        durationMs: fc.constantFrom(0, 20, 300),
      }),
    },
    { weight: 1, arbitrary: fc.record({ afterMs, call: fc.constant('reset' as const), policy }) },
  );
}

function quotasOf(of: {
  readonly limits: fc.Arbitrary<number>;
  readonly rates: fc.Arbitrary<number>;
  readonly times: fc.Arbitrary<number>;
  readonly blocks: fc.Arbitrary<number | undefined>;
  readonly buckets?: boolean;
}): fc.Arbitrary<Quota> {
  return fc
    .record({
      limit: of.limits,
      rate: of.rates,
      time: of.times,
      block: of.blocks,
      kind: fc.nat({ max: of.buckets === false ? 3 : 6 }),
    })
    .map(({ limit, rate, time, block, kind }) => {
      const common = block === undefined ? {} : { blockFor: block };
      const window = { limit, window: time, ...common };
      const bucket = { capacity: limit, per: time, ...common };
      switch (kind) {
        case 0:
          return fixedWindow(window);
        case 1:
          return fixedWindow({ ...window, align: 'first-request' });
        case 2:
          return slidingWindowLog(window);
        case 3:
          return slidingWindowCounter(window);
        case 4:
          return tokenBucket({ ...bucket, refillRate: rate });
        case 5:
          return leakyBucket({ ...bucket, leakRate: rate });
        default:
          return leakyBucket({ ...bucket, leakRate: rate, shape: false });
      }
    });
}
