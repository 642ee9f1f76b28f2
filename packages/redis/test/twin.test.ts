import { once } from 'node:events';
import {
  type Decision,
  MemoryStore,
  type Quota,
  type Refund,
  slidingWindowLog,
  type TakeMode,
  toQuota,
} from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import {
  type RedisCluster,
  type RedisServer,
  startCluster,
  startRedis,
} from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Cluster, Redis } from 'ioredis';
import { costs, largeQuotas, quotas, smallDelays } from '../../core/test/arbitraries.ts';
import { type RedisClient, RedisStore } from '../src/index.ts';
import exact from '../src/lua/exact.lua';
import { type Call, callOf, perform, type Step, stepsIn, takenBy } from './children/timelines.ts';

// Random timelines, on Redis and on a memory store by the same clock: every field of every decision is the same.

/** More of them when hunting: `RUNS=10000 jest twin`. */
const numRuns = Number(process.env.RUNS ?? 150);
const seed = process.env.SEED === undefined ? {} : { seed: Number(process.env.SEED) };

const MOST = Number.MAX_SAFE_INTEGER;
const DAY = 86_400_000;
const PEEK = { mode: 'peek' } as const;

let server: RedisServer;
let client: Redis;
let cluster: RedisCluster;
let clusterClient: Cluster;
let timelines = 0;

beforeAll(async () => {
  [server, cluster] = await Promise.all([startRedis(), startCluster()]);
  client = new Redis(server.url);
  clusterClient = new Cluster([...cluster.seeds]);
  await Promise.all([client.ping(), once(clusterClient, 'ready')]);
}, 60_000);

afterAll(async () => {
  client.disconnect();
  clusterClient.disconnect();
  await Promise.all([server.stop(), cluster.stop()]);
});

/** Takes what is left, and so many units more. */
type AtTheLimit = Step & { readonly beyond?: number | undefined };

function agree(startMs: number, steps: readonly AtTheLimit[]): Promise<void> {
  return play(startMs, steps, { client, oneByOne: false });
}

async function play(
  startMs: number,
  steps: readonly AtTheLimit[],
  { client, oneByOne }: { readonly client: RedisClient; readonly oneByOne: boolean },
): Promise<void> {
  timelines += 1;
  const clock = new ManualClock(startMs);
  const memory = new MemoryStore({ clock });
  const redis = new RedisStore({ client, clock, prefix: `t${timelines}`, timeout: '30s' });
  const expected: unknown[] = [];
  const answers: unknown[] = [];
  const taken: Refund[] = [];
  for (const step of steps) {
    clock.set(Math.max(0, clock.now() + step.afterMs));
    const call = withCosts(callOf(step, taken), step.beyond, memory);
    // Not waited for: a connection keeps their order.
    const pending = perform(redis, call);
    answers.push(pending);
    if (oneByOne) await pending;
    const answer = perform(memory, call);
    expected.push(answer);
    taken.push(...takenBy(call, answer));
  }
  expect(await Promise.all(answers)).toEqual(expected);
}

function withCosts(call: Call, beyond: number | undefined, memory: MemoryStore): Call {
  if (call.call !== 'take' || beyond === undefined) return call;
  const charges = call.charges.map((charge) => {
    const [{ remaining }] = memory.take([{ ...charge, cost: 0 }], PEEK) as [Decision];
    return { ...charge, cost: Math.min(remaining + beyond, MOST) };
  });
  return { ...call, charges };
}

/** So early that steps back come to 1970; at a usual time; so late that no step back comes there. */
const starts = fc.constantFrom(0, 1_767_225_600_123, 1_767_225_600_123, 1e15);

const several = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[]> =>
  fc.array(arbitrary, { minLength: 1, maxLength });

/** Of which a part has to leave before a larger cost fits. */
const smallLogs = fc
  .record({ limit: fc.integer({ min: 1, max: 20 }), window: fc.constantFrom(50, 100) })
  .map((options) => slidingWindowLog(options));

test.each([
  { clock: 'that goes ahead', backwards: false },
  { clock: 'that jumps both ways', backwards: true },
])('groups of one to four charges by a clock $clock', async ({ backwards }) => {
  const steps = fc
    .record({ quotas: several(several(quotas, 1), 4) })
    .chain((world) =>
      several(stepsIn({ ...world, delays: smallDelays({ backwards }), costs }), 60),
    );
  await fc.assert(fc.asyncProperty(starts, steps, agree), { numRuns, ...seed });
});

test.each([
  { clock: 'that goes ahead', backwards: false },
  { clock: 'that jumps both ways', backwards: true },
])('limits, algorithms and windows that change, by a clock $clock', async ({ backwards }) => {
  const delays = smallDelays({ backwards });
  const steps = fc
    .record({ quotas: several(several(quotas, 4), 2) })
    .chain((world) => several(stepsIn({ ...world, keys: ['a'], delays, costs }), 60));
  await fc.assert(fc.asyncProperty(starts, steps, agree), { numRuns, ...seed });
});

test.each([
  { of: 'any algorithm', pool: quotas },
  { of: 'logs', pool: smallLogs },
])('equal calls, of which many come at one time and travel once, of $of', async ({ pool }) => {
  const steps = fc
    .record({ quotas: several(several(pool, 2), 2), backwards: fc.boolean() })
    .chain(({ quotas, backwards }) => {
      const delays = fc.constant(0);
      const step = stepsIn({ quotas, keys: ['a', 'b'], delays, costs });
      const moments = several(
        fc.record({
          afterMs: smallDelays({ backwards }),
          which: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 12 }),
        }),
        8,
      );
      return fc.tuple(fc.array(step, { minLength: 5, maxLength: 5 }), moments);
    })
    .map(([few, moments]) =>
      moments.flatMap(({ afterMs, which }) =>
        which.map((one, i) => ({ ...(few[one] as Step), afterMs: i === 0 ? afterMs : 0 })),
      ),
    );
  await fc.assert(fc.asyncProperty(starts, steps, agree), { numRuns, ...seed });
});

test('what is answered in the process, since it was denied a moment ago', async () => {
  const counts = quotas.filter(({ algorithm }) => algorithm !== 'sliding-window-log');
  const delays = fc.oneof(fc.constantFrom(0, 0, 0, 1), smallDelays({ backwards: true }));
  const steps = fc
    .record({ quotas: several(several(counts, 2), 3) })
    .chain((world) => several(stepsIn({ ...world, keys: ['a'], delays, costs }), 60));
  const logsOfOne = fc.record({ quotas: several(several(smallLogs, 1), 1) }).chain((world) => {
    const ones = fc.constantFrom(0, 1, 1, 1);
    return several(stepsIn({ ...world, keys: ['a'], delays, costs: ones }), 60);
  });
  const agreeOneByOne = (startMs: number, of: Step[]) =>
    play(startMs, of, { client, oneByOne: true });
  const property = fc.asyncProperty(starts, fc.oneof(steps, logsOfOne), agreeOneByOne);
  await fc.assert(property, { numRuns, ...seed });
});

describe('on a cluster', () => {
  test('groups whose subjects are in one slot or in several', async () => {
    const steps = fc
      .record({ quotas: several(several(quotas, 2), 3), backwards: fc.boolean() })
      .chain(({ quotas, backwards }) =>
        several(stepsIn({ quotas, delays: smallDelays({ backwards }), costs }), 40),
      );
    const property = fc.asyncProperty(starts, steps, (startMs, of) =>
      play(startMs, of, { client: clusterClient, oneByOne: true }),
    );
    await fc.assert(property, { numRuns: numRuns / 3, ...seed });
  });

  test('calls of one slot that come together', async () => {
    const steps = fc.record({ quotas: several(several(quotas, 2), 3) }).chain((world) => {
      const delays = fc.constantFrom(0, 0, 0, 1, 20);
      return several(stepsIn({ ...world, keys: ['a'], delays, costs }), 60);
    });
    const property = fc.asyncProperty(starts, steps, (startMs, of) =>
      play(startMs, of, { client: clusterClient, oneByOne: false }),
    );
    await fc.assert(property, { numRuns: numRuns / 3, ...seed });
  });
});

test('numbers as large as they may be, and debts that end at 2^53 - 1', async () => {
  const debts = fc.oneof(fc.constantFrom(1, MOST), fc.integer({ min: 0, max: MOST }));
  const jumps = fc.constantFrom(-1000 * DAY, -365 * DAY, -DAY, 30 * DAY, 1e13);
  const blocks = fc.constantFrom(0, 1, DAY, 1e13);
  const steps = several(largeQuotas, 3).chain((large) => {
    const step = stepsIn({
      quotas: [large.map(({ quota }) => quota)],
      keys: ['a'],
      costs: fc.oneof(...large.map((of) => ({ weight: 4, arbitrary: of.costs })), debts),
      delays: fc.oneof(...large.map((of) => ({ weight: 4, arbitrary: of.delays })), jumps),
      blocks,
    });
    const beyond = fc.constantFrom(undefined, undefined, 0, 1);
    const atTheLimit = fc.tuple(step, beyond).map(([step, beyond]) => ({ ...step, beyond }));
    return several(atTheLimit, 50);
  });
  await fc.assert(fc.asyncProperty(starts, steps, agree), { numRuns, ...seed });
});

test('debts of small windows that end at 2^53 - 1, and what is left when one of them leaves', async () => {
  const debts = fc.oneof(fc.constantFrom(1, 2, MOST), fc.integer({ min: 1, max: MOST }));
  const limits = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: MOST }));
  const logs = limits.map((limit) => slidingWindowLog({ limit, window: 100 }));
  const modes = ['take', 'force', 'force'] as const;
  const delays = smallDelays({ backwards: false });
  const steps = fc
    .oneof(several(logs, 2), several(fc.oneof(logs, quotas), 3))
    .chain((of) =>
      several(stepsIn({ quotas: [of], keys: ['a'], delays, costs: debts, modes }), 50),
    );
  await fc.assert(fc.asyncProperty(starts, steps, agree), { numRuns, ...seed });
});

test('logs of hundreds of entries, many of one millisecond, given back from their middle', async () => {
  const steps = fc
    .record({
      limit: fc.constantFrom(20, 100, 400, 1000),
      window: fc.constantFrom(100, 500, 2000),
      other: fc.option(quotas, { nil: undefined }),
      refunds: fc.constantFrom(1, 40),
    })
    .chain(({ limit, window, other, refunds }) => {
      const log: Quota = slidingWindowLog({ limit, window });
      const lower = slidingWindowLog({ limit: Math.ceil(limit / 3), window });
      const rarely = other === undefined ? [] : [other];
      return fc.array(
        stepsIn({
          quotas: [[...Array<Quota>(60).fill(log), lower, ...rarely]],
          keys: ['a'],
          delays: fc.oneof(
            { weight: 120, arbitrary: fc.constantFrom(0, 0, 0, 1, 2, 7) },
            { weight: 1, arbitrary: fc.constantFrom(Math.floor(window / 2), -1, -3 * window) },
          ),
          costs: fc.constantFrom(1, 1, 1, 2, 3),
          weights: { take: 200, refund: refunds, change: 0 },
        }),
        { minLength: 100, maxLength: 500, size: 'max' },
      );
    });
  await fc.assert(fc.asyncProperty(starts, steps, agree), { numRuns: numRuns / 5, ...seed });
});

/** What random timelines meet only now and then. */
const EXAMPLES: Record<string, readonly Step[]> = {
  'a debt past 2^53, and units after it that just leave room': [
    taking('sliding-window-log 5/100ms', MOST, 0, 'force'),
    taking('sliding-window-log 5/100ms', 2, 10, 'force'),
    taking('sliding-window-log 5/100ms', 3, 10),
  ],
  'a window from the first request that begins without units, before the clock has come to one window':
    [
      taking('fixed-window 2/10ms', 1, 0),
      taking('fixed-window 2/50ms align=first-request', 9, 20),
      taking('fixed-window 2/50ms align=first-request', 1, 10),
      taking('fixed-window 2/50ms align=first-request', 1, 10),
    ],
  'a clock that steps back by one window and no more': [
    taking('sliding-window-log 5/50ms', 3, 100),
    taking('sliding-window-log 5/50ms', 1, -50),
    taking('sliding-window-log 5/50ms', 1, 20),
  ],
  'a clock that steps back again before the first step is forgotten': [
    taking('sliding-window-log 5/50ms', 5, 5_000),
    taking('sliding-window-log 5/50ms', 1, -1_000),
    taking('sliding-window-log 5/50ms', 1, -1_000),
    taking('sliding-window-log 5/50ms', 1, 100),
  ],
  'a clock that steps back into a block that was over at the last charge': [
    { afterMs: 0, call: 'block', subjects: [{ policy: 'policy', key: 'key' }], durationMs: 20 },
    taking('sliding-window-log 5/50ms', 1, 30),
    taking('sliding-window-log 5/50ms', 1, -20),
    taking('sliding-window-log 5/50ms', 1, 20),
  ],
  'units given back to the window before, and to the current one, of a counter': [
    taking('9/50ms', 4, 49),
    taking('9/50ms', 3, 2),
    { afterMs: 0, call: 'refund', given: [{ back: 1, cost: 2, besideMs: 0 }] },
    taking('9/50ms', 0, 0),
    { afterMs: 0, call: 'refund', given: [{ back: 1, cost: 1, besideMs: 0 }] },
    taking('9/50ms', 0, 0),
  ],
};

test.each(Object.keys(EXAMPLES))('%s', (name) => agree(0, EXAMPLES[name] as readonly Step[]));

function taking(quota: string, cost: number, afterMs: number, mode: TakeMode = 'take'): Step {
  const charges = [{ policy: 'policy', key: 'key', quota: toQuota(quota), cost }];
  return { afterMs, call: 'take', mode, charges };
}

test('a share of a number is rounded down exactly, however large the product', async () => {
  const script = `${exact} return text_of(multiply_divide_floor(ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0))`;
  const whole = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: MOST }));
  const shares = fc.tuple(whole, whole).chain(([a, d]) => {
    const [part, all] = [Math.min(a, d), Math.max(a, d)];
    // Halves, and what comes to a whole number, are where a digit is carried.
    return fc.tuple(fc.constantFrom(part, all, Math.floor(all / 2)), whole, fc.constant(all));
  });
  const property = fc.asyncProperty(fc.array(shares, { minLength: 50 }), async (several) => {
    const answers = several.map((numbers) => client.eval(script, 0, ...numbers));
    const expected = several.map(([a, b, d]) => String((BigInt(a) * BigInt(b)) / BigInt(d)));
    expect(await Promise.all(answers)).toEqual(expected);
  });
  await fc.assert(property, { numRuns: numRuns / 3, ...seed });
});
