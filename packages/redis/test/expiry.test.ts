import { randomInt } from 'node:crypto';
import {
  type Charge,
  type Decision,
  MemoryStore,
  type Quota,
  type Refund,
  toQuota,
} from '@floodgate/core';
import { fillTimeOf } from '@floodgate/core/internal';
import { ManualClock } from '@floodgate/core/testing';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { costs, quotas, smallDelays } from '../../core/test/arbitraries.ts';
import { RedisStore } from '../src/index.ts';
import { TimedClient } from './children/timed-client.ts';
import { callOf, perform, type Step, stepsIn, takenBy } from './children/timelines.ts';

// Every key has an expiry: late enough to change no decision, and no later than the state needs.

/** More of them when hunting: `RUNS=10000 jest expiry`. */
const numRuns = Number(process.env.RUNS ?? 150);
const seed = process.env.SEED === undefined ? {} : { seed: Number(process.env.SEED) };

const HOUR = 3_600_000;
const START_MS = Date.UTC(2026, 0, 1);
const KEY = 'floodgate:{key}:policy';

let server: RedisServer;
let client: Redis;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
});

beforeEach(() => client.flushdb());

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** How much was written since the server started. */
async function changesOf(server: RedisServer): Promise<string | undefined> {
  const persistence = String(await server.command('INFO', 'persistence'));
  return persistence.match(/rdb_changes_since_last_save:(\d+)/)?.[1];
}

const several = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[]> =>
  fc.array(arbitrary, { minLength: 1, maxLength });

/**
 * A policy's quotas from call to call. A bucket has one: for how long a state counts is said by the quota that made it,
 * and one of a slower rate would find more in it.
 */
const policies: fc.Arbitrary<Quota[]> = fc.oneof(
  several(
    quotas.filter((quota) => 'windowMs' in quota),
    3,
  ),
  quotas.map((quota) => [quota]),
);
const delays = smallDelays({ backwards: false });
const weights = { take: 10, refund: 2, change: 2 };
const timelines = several(policies, 3).chain((of) =>
  several(stepsIn({ quotas: of, keys: ['a'], delays, costs, weights }), 40),
);

/** Plays a timeline on both. A memory store with so few keys never forgets. */
async function agree(
  steps: readonly Step[],
  { clock, redis }: { clock: ManualClock; redis: RedisStore },
  afterEach: (index: number) => void,
): Promise<void> {
  await client.flushdb();
  const memory = new MemoryStore({ clock });
  const taken: Refund[] = [];
  for (const [index, step] of steps.entries()) {
    clock.advance(step.afterMs);
    const call = callOf(step, taken);
    const answer = perform(memory, call);
    expect(await perform(redis, call)).toEqual(answer);
    taken.push(...takenBy(call, answer));
    afterEach(index);
  }
}

/** For how long what a step leaves may count; forced debts count until they are paid. */
function longestNeeded(step: Step): number {
  if (step.call === 'block') return step.durationMs;
  if (step.call !== 'take') return 0;
  if (step.mode === 'force') return Number.POSITIVE_INFINITY;
  const needed = step.charges.map(({ quota }) => {
    const windows = quota.algorithm === 'sliding-window-counter' ? 2 : 1;
    return Math.max(windows * fillTimeOf(quota), quota.blockMs ?? 0);
  });
  return Math.max(...needed);
}

async function agreesAndNeedsNoMore(steps: readonly Step[], earlyMs: number): Promise<void> {
  const clock = new ManualClock(START_MS);
  const timed = new TimedClient(client, clock, earlyMs);
  const given = earlyMs > 0 ? { clock } : {};
  const redis = new RedisStore({ client: timed, timeout: '30s', localDenials: false, ...given });
  const longest = Math.max(...steps.map(longestNeeded)) + earlyMs;
  await agree(steps, { clock, redis }, () => {
    expect(timed.left).not.toContain(-1);
    expect(Math.max(...timed.left)).toBeLessThanOrEqual(longest);
  });
}

describe.each([
  { clock: "the server's clock", gone: 'at its expiry', earlyMs: 0 },
  { clock: 'a given clock', gone: 'an hour before its expiry', earlyMs: HOUR },
])('by $clock', ({ gone, earlyMs }) => {
  test(`no decision changes where a key is gone ${gone}, and none is kept longer than needed`, async () => {
    const property = fc.asyncProperty(timelines, (steps) => agreesAndNeedsNoMore(steps, earlyMs));
    await fc.assert(property, { numRuns, ...seed });
  });

  test('what a blocked take carries over is kept for longer than the block', async () => {
    const subject = { policy: 'policy', key: 'a' };
    const take = (quota: string, cost: number, afterMs: number): Step => ({
      afterMs,
      call: 'take',
      mode: 'take',
      charges: [{ ...subject, quota: toQuota(quota), cost }],
    });
    const steps: Step[] = [
      take('fixed-window 6/50ms', 6, 0),
      { afterMs: 0, call: 'block', subjects: [subject], durationMs: 20 },
      take('sliding-window-log 6/50ms', 1, 10),
      take('sliding-window-log 6/50ms', 1, 10),
    ];
    await agreesAndNeedsNoMore(steps, earlyMs);
  });
});

test('no decision changes while a given clock is up to an hour off, now this much and now that much', async () => {
  const texts = [
    'fixed-window 3/1m',
    'fixed-window 3/50m align=first-request',
    '4/20m',
    'sliding-window-log 3/30m',
    'token-bucket 3 1/10m',
    'leaky-bucket 2 3/40m block=5m',
  ];
  const wide = fc.constantFrom(...texts.map((text) => toQuota(text)));
  const ahead = fc.oneof(delays, fc.integer({ min: 0, max: HOUR }));
  const steps = several(
    fc.oneof(quotas, wide).map((quota) => [quota]),
    3,
  ).chain((of) => several(stepsIn({ quotas: of, keys: ['a'], delays: ahead, costs, weights }), 40));
  const offsets = fc.array(fc.integer({ min: 0, max: HOUR }), { minLength: 10, maxLength: 10 });
  const property = fc.asyncProperty(steps, offsets, async (steps, offsets) => {
    const serverClock = new ManualClock(START_MS);
    const clock = new ManualClock(START_MS);
    const timed = new TimedClient(client, serverClock, 0);
    const redis = new RedisStore({ client: timed, localDenials: false, clock, timeout: '30s' });
    const offsetAt = (index: number) => offsets[Math.floor(index / 4)] as number;
    const apart = steps.map((step, index) => {
      const jumpMs = offsetAt(index) - (index > 0 ? offsetAt(index - 1) : 0);
      return { ...step, afterMs: step.afterMs + jumpMs };
    });
    const advance = (index: number) => serverClock.advance(steps[index]?.afterMs ?? 0);
    advance(0);
    await agree(apart, { clock, redis }, (index) => {
      expect(timed.left).not.toContain(-1);
      advance(index + 1);
    });
  });
  await fc.assert(property, { numRuns, ...seed });
});

describe('a key found without an expiry', () => {
  const charge: Charge = { policy: 'policy', key: 'key', quota: toQuota('5/10s'), cost: 1 };
  const block = { ...charge, quota: toQuota('1/10s block=20s') };
  const changes: [string, (store: RedisStore) => Promise<unknown>][] = [
    ['an admitted take', (store) => store.take([charge])],
    ['a take of nothing', (store) => store.take([{ ...charge, cost: 0 }])],
    ['a denied take', (store) => store.take([{ ...charge, cost: 9 }])],
    ['a take that starts a block', (store) => store.take([block])],
    ['a refund', (store) => store.refund([{ ...charge, atMs: Date.now() }])],
    ['a block', (store) => store.block([charge], 50)],
  ];

  test.each(changes)('has one again after %s, and counts as before', async (_, change) => {
    const store = new RedisStore({ client, timeout: '30s' });
    await store.take([{ ...charge, cost: 5 }]);
    await client.persist(KEY);
    await change(store);
    expect(await client.pttl(KEY)).toBeGreaterThan(9_900);
    expect(await client.pttl(KEY)).toBeLessThanOrEqual(HOUR);
  });

  test.each(changes)('of junk, has one after %s', async (name, change) => {
    const store = new RedisStore({ client, timeout: '30s' });
    for (const junk of ['junk', '1', '9'.repeat(200), '1f 1;2;3', '1f;junk']) {
      await client.set(KEY, junk);
      const answer = await change(store);
      // What is no state of ours may be gone at once.
      expect(await client.pttl(KEY)).not.toBe(-1);
      if (name.includes('take'))
        expect(answer).toMatchObject([{ blocked: false, atMs: expect.any(Number) }]);
      await store.block([charge], 0);
      const [decision] = (await store.take([{ ...charge, cost: 0 }])) as [Decision];
      expect(decision.remaining).toBeGreaterThanOrEqual(4);
      await client.del(KEY);
    }
  });
});

test('lifting a block leaves alone what is no state of ours', async () => {
  const store = new RedisStore({ client, timeout: '30s' });
  await client.set(KEY, 'junk', 'PX', HOUR);
  await store.block([{ policy: 'policy', key: 'key' }], 0);
  expect(await client.get(KEY)).toBe('junk');
});

test('a bucket found without an expiry is not forgotten with a block', async () => {
  const store = new RedisStore({ client, timeout: '30s' });
  const charge = { policy: 'policy', key: 'key', quota: toQuota('token-bucket 100 1/1m') };
  await store.take([{ ...charge, cost: 100 }]);
  await client.persist(KEY);
  await store.block([charge], 50);
  expect(await client.pttl(KEY)).toBeGreaterThan(5_900_000);
});

test.each([
  'fixed-window 3/1h',
  'fixed-window 3/1h align=first-request',
  'sliding-window-log 3/1h',
  '3/1h',
  'token-bucket 3 1/1h',
  'leaky-bucket 3 1/1h',
])('who is denied writes nothing: %s', async (text) => {
  const clock = new ManualClock();
  for (const store of [
    new RedisStore({ client, timeout: '30s' }),
    new RedisStore({ client, timeout: '30s', clock, prefix: 'given' }),
  ]) {
    const charge = { policy: 'policy', key: text, quota: toQuota(text) };
    await store.take([{ ...charge, cost: 2 }]);
    await store.take([{ ...charge, cost: 2 }]);
    const changes = await changesOf(server);
    for (let i = 0; i < 50; i += 1) {
      clock.advance(1);
      const [decision] = (await store.take([{ ...charge, cost: 2 }])) as [Decision];
      expect(decision.allowed).toBe(false);
    }
    expect(await changesOf(server)).toBe(changes);
  }
});

test.each(['2b;1;2;3', '10b;1;2;3'])(
  'the state of a later version is not overwritten: takes fail (%s)',
  async (later) => {
    const store = new RedisStore({ client, timeout: '30s' });
    const charge: Charge = { policy: 'policy', key: 'key', quota: toQuota('5/10s'), cost: 1 };
    await client.set(KEY, later, 'PX', HOUR);
    await expect(store.take([charge])).rejects.toMatchObject({ code: 'FLOODGATE_STORE_FAILED' });
    await expect(store.block([charge], 9)).rejects.toMatchObject({
      code: 'FLOODGATE_STORE_FAILED',
    });
    expect(await client.get(KEY)).toBe(later);
  },
);

test("around the instant of expiry, by the server's clock, no key is left for ever and no count is negative", async () => {
  const store = new RedisStore({ client, timeout: '30s' });
  const texts = [
    'fixed-window 3/5ms',
    'fixed-window 3/5ms align=first-request',
    '3/5ms',
    'sliding-window-log 3/5ms',
    'token-bucket 3 3/5ms',
    'leaky-bucket 3 3/5ms block=5ms',
  ];
  const charges = texts.map(
    (text, i): Charge => ({ policy: `policy-${i}`, key: 'key', quota: toQuota(text), cost: 1 }),
  );
  for (let round = 0; round < 600; round += 1) {
    const changes = charges.map(async (charge) => {
      const [{ remaining, atMs }] = (await store.take([charge])) as [Decision];
      expect(remaining).toBeGreaterThanOrEqual(0);
      expect(remaining).toBeLessThanOrEqual(2);
      if (round % 5 === 0) await store.refund([{ ...charge, cost: 2, atMs }]);
      if (round % 7 === 0) await store.block([charge], randomInt(0, 3));
      const key = `floodgate:{key}:${charge.policy}`;
      const [left, text] = await Promise.all([client.pttl(key), client.get(key)]);
      expect(left).not.toBe(-1);
      expect(text ?? '').not.toContain('-');
    });
    await Promise.all(changes);
    for (let wait = randomInt(0, 9); wait > 0; wait -= 1) await client.ping();
  }
});
