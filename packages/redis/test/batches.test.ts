import { setImmediate } from 'node:timers/promises';
import { type Charge, RateLimiter, toQuota } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisStore } from '../src/index.ts';
import { callsOf } from './calls-of.ts';

// What comes in one turn of the event loop travels in one call, each step decided by itself and in order.

let server: RedisServer;
let client: Redis;
let store: RedisStore;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
});
beforeEach(async () => {
  await client.flushall();
  store = new RedisStore({ client, timeout: '30s' });
  // The server knows the scripts then. One that it does not know is sent again, behind what came after it.
  await store.take([{ ...charge('warm-up'), cost: 0 }]);
  await store.block([charge('warm-up')], 0);
  await store.reset([charge('warm-up')]);
  await client.config('RESETSTAT');
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

function charge(key: string, quota = '5/1h', policy = 'policy'): Charge {
  return { policy, key, quota: toQuota(quota), cost: 1 };
}

const times = <T>(count: number, act: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => act(i));

describe('in one turn', () => {
  test('256 takes are one call, and more are as many calls as they need', async () => {
    const takes = (count: number) =>
      Promise.all(times(count, (i) => store.take([charge(`k${i}`)])));
    const decisions = await takes(256);
    expect(decisions.every(([decision]) => decision?.remaining === 4)).toBe(true);
    expect(await callsOf(server, 'evalsha')).toBe(1);
    await takes(1000);
    expect(await callsOf(server, 'evalsha')).toBe(1 + 4);
  });

  test('one take of three policies is one call', async () => {
    const limiter = new RateLimiter({
      store,
      policies: ['a', 'b', 'c'].map((name) => ({ name, quota: '5/1h' })),
    });
    await limiter.take('user:42');
    expect(await callsOf(server, 'evalsha')).toBe(1);
  });

  test('10,000 takes of one key are one call with one charge, and each gets an answer of its own', async () => {
    const hot = charge('hot', 'fixed-window 4000/1d align=first-request');
    const decisions = (await Promise.all(times(10_000, () => store.take([hot])))).flat();
    expect(decisions.map(({ allowed }) => allowed)).toEqual(times(10_000, (i) => i < 4000));
    expect(decisions.map(({ remaining }) => remaining)).toEqual(
      times(10_000, (i) => Math.max(0, 3999 - i)),
    );
    expect(await callsOf(server, 'evalsha')).toBe(1);
    // It was read once, and written once.
    expect(await callsOf(server, 'set')).toBe(1);
  });

  test('settles and refunds ride along', async () => {
    const limiter = new RateLimiter({ store, policies: [{ name: 'policy', quota: '50/1h' }] });
    const verdicts = await Promise.all(
      times(20, (i) => limiter.take(`k${i}`, { cost: i === 0 ? 50 : 5 })),
    );
    await client.config('RESETSTAT');
    await Promise.all([
      ...verdicts.map((verdict, i) => verdict.settle(i % 2 === 0 ? 3 : 8)),
      limiter.take('k20'),
    ]);
    expect(await callsOf(server, 'evalsha')).toBe(1);
    const left = await Promise.all(times(20, (i) => limiter.peek(`k${i}`, { cost: 0 })));
    expect(left.map(({ tightest }) => tightest.remaining)).toEqual(
      times(20, (i) => (i % 2 === 0 ? 47 : 42)),
    );
  });

  test('blocks and resets come between the takes before and behind them', async () => {
    const hot = charge('hot');
    const takes = [store.take([hot]), store.take([hot])];
    void store.reset([hot]);
    takes.push(store.take([hot]));
    void store.block([hot], 60_000);
    takes.push(store.take([hot]));
    void store.block([hot], 0);
    takes.push(store.take([hot]));
    const decisions = (await Promise.all(takes)).flat();
    expect(decisions.map(({ remaining }) => remaining)).toEqual([4, 3, 4, 0, 3]);
  });

  test('a key that is met again sees what was charged before', async () => {
    const shared = charge('shared', '3/1h', 'global');
    const groups = times(5, (i) => [charge(`k${i}`), shared]);
    const decisions = await Promise.all(groups.map((group) => store.take(group)));
    expect(decisions.map(([own, all]) => [own?.remaining, all?.allowed, all?.remaining])).toEqual([
      [4, true, 2],
      [4, true, 1],
      [4, true, 0],
      [5, false, 0],
      [5, false, 0],
    ]);
    expect(await callsOf(server, 'evalsha')).toBe(1);
  });

  test('by a clock of the user’s, each counts at the time at which it came', async () => {
    const clock = new ManualClock(3_600_000);
    const timed = new RedisStore({ client, clock, timeout: '30s' });
    const takes = [timed.take([charge('k')])];
    clock.advance(1);
    takes.push(timed.take([charge('k')]));
    const decisions = (await Promise.all(takes)).flat();
    expect(decisions.map(({ atMs }) => atMs)).toEqual([3_600_000, 3_600_001]);
  });
});

test('a take that is alone is sent in its own turn', async () => {
  let isSent = false;
  const watched = new RedisStore({
    client: {
      status: 'ready',
      evalsha: client.evalsha.bind(client) as Redis['evalsha'],
      eval: (script: string, keyCount: number, ...rest: string[]) => {
        isSent = true;
        return client.eval(script, keyCount, ...rest);
      },
    },
  });
  const taken = watched.take([charge('k')]);
  await setImmediate();
  expect(isSent).toBe(true);
  await taken;
});

describe('what fails', () => {
  test('is the step that met a state of a later version, and no other', async () => {
    await client.set('floodgate:{new}:policy', '2z;whatever');
    const results = await Promise.allSettled([
      store.take([charge('k')]),
      store.take([charge('k'), charge('new')]),
      store.refund([{ ...charge('new'), atMs: 0 }]),
      store.take([charge('new')], { mode: 'peek' }),
      store.take([charge('k')]),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(results[1]).toMatchObject({
      reason: { code: 'FLOODGATE_STORE_FAILED', message: expect.stringContaining('later version') },
    });
    // All or nothing: of the one that failed, nothing was charged.
    expect(results[4]).toMatchObject({ value: [{ remaining: 3 }] });
    expect(await client.get('floodgate:{new}:policy')).toBe('2z;whatever');
    expect(await callsOf(server, 'evalsha')).toBe(1);
    await expect(store.block([charge('new')], 1)).rejects.toThrow(/later version/);
  });

  test('is nothing, where somebody has written what only looks like a state', async () => {
    const entry = '0000001767225600'.repeat(3);
    const texts = {
      letter: '1x;60000;1;1',
      period: '1c;0;1;1;1',
      digits: `1f;60000;${'9'.repeat(400)};1`,
      cut: `1l;${'0000000000060000;'.repeat(2)}${'0000000000000009;'.repeat(4)}${entry}`,
    };
    const keys = Object.keys(texts);
    for (const quota of ['5/1h', 'sliding-window-log 5/1m']) {
      for (const [key, text] of Object.entries(texts)) {
        await client.set(`floodgate:{${key}}:policy`, text);
      }
      const calls = keys.flatMap((key) => [
        store.take([charge(`beside ${key}`, quota)]),
        store.take([charge(key, quota)]),
        store.refund([{ ...charge(key, quota), atMs: 1767225600 }]),
      ]);
      const results = await Promise.allSettled(calls);
      expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    }
  });

  test('is the take of what is no quota, and no other', async () => {
    const results = await Promise.allSettled([
      store.take([charge('k')]),
      store.take([{ ...charge('k'), quota: { algorithm: 'none' } as never }]),
      store.take([{ ...charge('k'), quota: undefined as never }]),
      store.take([charge('k')]),
    ]);
    expect(results).toMatchObject([
      { value: [{ remaining: 4 }] },
      { reason: { code: 'FLOODGATE_INVALID_QUOTA' } },
      { reason: { code: 'FLOODGATE_INVALID_QUOTA' } },
      { value: [{ remaining: 3 }] },
    ]);
  });

  test('is nothing, where something else is in a key’s place: it counts as never seen, and is replaced', async () => {
    for (const quota of ['5/1h', 'sliding-window-log 5/1h']) {
      for (const key of ['a', 'b', 'c', 'd']) await client.del(`floodgate:{${key}}:policy`);
      await client.hset('floodgate:{a}:policy', 'field', 'value');
      await client.set('floodgate:{b}:policy', 'text');
      await client.lpush('floodgate:{c}:policy', 'item');
      await store.refund([{ ...charge('c', quota), atMs: 0 }]);
      const takes = ['a', 'b', 'c', 'd'].map((key) => store.take([charge(key, quota)]));
      expect((await Promise.all(takes)).map(([decision]) => decision?.remaining)).toEqual([
        4, 4, 4, 4,
      ]);
      const again = ['a', 'b', 'c', 'd'].map((key) => store.take([charge(key, quota)]));
      expect((await Promise.all(again)).map(([decision]) => decision?.remaining)).toEqual([
        3, 3, 3, 3,
      ]);
    }
  });
});
