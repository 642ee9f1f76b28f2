import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { type Charge, type Decision, type Duration, RateLimiter, toQuota } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisStore } from '../src/index.ts';
import { callsOf } from './calls-of.ts';

// Who was denied is denied again without a question to Redis, until it may be admitted.

let server: RedisServer;
let client: Redis;
let clock: ManualClock;
let store: RedisStore;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
});
beforeEach(async () => {
  await client.flushall();
  clock = new ManualClock(1_767_225_600_000);
  store = storeOf({ clock });
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

function storeOf(options: { clock?: ManualClock; localDenials?: Duration | false }): RedisStore {
  return new RedisStore({ client, timeout: '30s', ...options });
}

function charge(quota = 'fixed-window 5/1h', cost = 1, key = 'k', policy = 'policy'): Charge {
  return { policy, key, quota: toQuota(quota), cost };
}

async function take(...charges: Charge[]): Promise<Decision> {
  const [decision] = await store.take(charges);
  return decision as Decision;
}

/** How many calls an act makes. */
async function questions(act: () => Promise<unknown>): Promise<number> {
  await client.config('RESETSTAT');
  await act();
  return (await callsOf(server, 'evalsha')) + (await callsOf(server, 'eval'));
}

/** Denied once, by Redis. */
async function deny(quota?: string): Promise<Decision> {
  await take(charge(quota, 5));
  return take(charge(quota));
}

test('a denied flood of 10,000 requests in a second asks at most twice', async () => {
  store = storeOf({});
  await deny();
  let admitted = 0;
  const flood = async () => {
    const endAtMs = performance.now() + 1000;
    for (let i = 0; i < 100; i += 1) {
      const decisions = await Promise.all(Array.from({ length: 100 }, () => take(charge())));
      admitted += decisions.filter(({ allowed }) => allowed).length;
      const leftMs = endAtMs - performance.now();
      if (leftMs > 0) await setTimeout(leftMs / (100 - i));
    }
  };
  expect(await questions(flood)).toBeLessThanOrEqual(2);
  expect(admitted).toBe(0);
});

test.each([
  'fixed-window 5/1h',
  'fixed-window 5/1h align=first-request',
  'sliding-window-log 5/1h',
  'sliding-window-counter 5/1h',
  'token-bucket 5 1/100ms',
  'leaky-bucket 5 1/100ms',
])('%s: to the millisecond at which it may be admitted', async (quota) => {
  store = storeOf({ clock, localDenials: '1d' });
  const { retryAfterMs, atMs } = await deny(quota);
  expect(retryAfterMs).toBeGreaterThan(1);
  for (const passedMs of [0, 1, Math.floor(retryAfterMs / 2), retryAfterMs - 1]) {
    clock.set(atMs + passedMs);
    const again = async () => {
      expect(await take(charge(quota))).toMatchObject({
        allowed: false,
        retryAfterMs: retryAfterMs - passedMs,
        atMs: atMs + passedMs,
      });
    };
    expect(await questions(again)).toBe(0);
  }
  clock.set(atMs + retryAfterMs);
  expect((await take(charge(quota))).allowed).toBe(true);
});

test('what is left of the other policies of a group is told as well', async () => {
  const user = charge('5/1h', 2, 'u', 'user');
  const site = charge('fixed-window 5/1h', 1, 's', 'site');
  await take(charge('fixed-window 5/1h', 5, 's', 'site'));
  await store.take([user, site]);
  const again = async () => {
    expect(await store.take([user, site])).toMatchObject([
      { allowed: true, remaining: 5 },
      { allowed: false, remaining: 0 },
    ]);
  };
  expect(await questions(again)).toBe(0);
  // Of another user nothing is known yet.
  const other = charge('5/1h', 1, 'v', 'user');
  expect(await questions(() => store.take([other, site]))).toBe(1);
  expect(await questions(() => store.take([other, site]))).toBe(0);
});

test('a flood is answered in the process though others are admitted to what it shares with them', async () => {
  const site = charge('fixed-window 10000/1h', 1, 's', 'site');
  const rude = charge('fixed-window 1/1h', 1, 'rude', 'user');
  await store.take([rude, site]);
  await store.take([rude, site]);
  const flood = async () => {
    for (let i = 0; i < 50; i += 1) {
      await store.take([charge('fixed-window 1/1h', 1, `u${i}`, 'user'), site]);
      const [user, all] = await store.take([rude, site]);
      expect([user?.allowed, all?.remaining]).toEqual([false, 10_000 - 2 - i]);
    }
  };
  expect(await questions(flood)).toBe(50);
});

test('while Redis is away, the rule decides, and nobody is told that it is back', async () => {
  const lost = await startRedis();
  const own = new Redis(lost.url, { retryStrategy: () => null });
  own.on('error', () => {});
  const codes: string[] = [];
  const limiter = new RateLimiter({
    store: new RedisStore({ client: own, clock }),
    policies: [{ name: 'policy', quota: 'fixed-window 5/1h' }],
    onEvent: ({ code }) => codes.push(code),
  });
  await once(own, 'ready');
  await limiter.take('k', { cost: 5 });
  await limiter.take('k');
  expect((await limiter.take('k')).degraded).toBeUndefined();
  const gone = once(own, 'end');
  await lost.stop();
  await gone;
  for (const key of ['z', 'k', 'z', 'k']) {
    expect(await limiter.take(key)).toMatchObject({
      allowed: key === 'z',
      degraded: { rule: 'local' },
    });
  }
  expect(codes).toEqual(['degraded']);
});

describe('Redis is asked', () => {
  test('for a smaller cost than was denied', async () => {
    await take(charge(undefined, 3));
    await take(charge(undefined, 4));
    expect(await questions(() => take(charge(undefined, 4)))).toBe(0);
    expect(await questions(() => take(charge(undefined, 5)))).toBe(0);
    expect((await take(charge(undefined, 2))).allowed).toBe(true);
    // Even where that is denied as well.
    await take(charge(undefined, 2));
    expect(await questions(() => take(charge(undefined, 1)))).toBe(1);
    expect(await questions(() => take(charge(undefined, 1)))).toBe(0);
  });

  test('where the policy settles: what is reserved may come back', async () => {
    const limiter = new RateLimiter({
      store,
      policies: [{ name: 'policy', quota: 'fixed-window 5/1h', settles: true }],
    });
    await limiter.take('k', { cost: 5 });
    await limiter.take('k');
    expect(await questions(() => limiter.take('k'))).toBe(1);
  });

  test('where the policy only watches', async () => {
    await deny();
    const watched = { ...charge(), advisory: true };
    await take(watched);
    expect(await questions(() => take(watched))).toBe(1);
  });

  test('where a denial would start another block', async () => {
    const quota = 'fixed-window 5/1h block=300ms';
    await deny(quota);
    expect(await questions(() => take(charge(quota)))).toBe(0);
    clock.advance(300);
    const again = async () => {
      expect(await take(charge(quota))).toMatchObject({ blocked: true, allowed: false });
    };
    expect(await questions(again)).toBe(1);
    expect(await questions(again)).toBe(0);
  });

  test('by who peeks', async () => {
    await deny();
    expect(await questions(() => store.take([charge()], { mode: 'peek' }))).toBe(1);
  });

  test('each time, where this is turned off', async () => {
    store = storeOf({ clock, localDenials: false });
    await deny();
    expect(await questions(() => take(charge()))).toBe(1);
  });

  test('where a clock was set back', async () => {
    await deny();
    clock.advance(-10);
    expect(await questions(() => take(charge()))).toBe(1);
  });
});

describe('this process itself', () => {
  const CHANGES: Record<string, (denied: Decision) => unknown> = {
    resets: () => store.reset([charge()]),
    'gives back': ({ atMs }) => store.refund([{ ...charge(), atMs }]),
    'charges more': () => store.take([charge()], { mode: 'force' }),
    blocks: () => store.block([charge()], 60_000),
    unblocks: () => store.block([charge()], 0),
  };

  test.each(Object.entries(CHANGES))('%s: it is seen at once', async (_, change) => {
    await change(await deny());
    expect(await questions(() => take(charge()))).toBe(1);
  });

  test('meets another quota: it is seen at once', async () => {
    await deny();
    expect((await take(charge('fixed-window 6/1h'))).allowed).toBe(true);
    await take(charge('fixed-window 6/1h'));
    expect(await questions(() => take(charge('fixed-window 6/2h')))).toBe(1);
  });

  test('meets an equal quota: that is no other', async () => {
    await deny();
    expect(await questions(() => take(charge()))).toBe(0);
  });

  test('resets by a script that Redis had forgotten, and that came behind a take: that is seen', async () => {
    await deny();
    await store.reset([charge('5/1h', 1, 'other')]);
    await client.script('FLUSH');
    await take(charge('5/1h', 1, 'another'));
    const reset = store.reset([charge()]);
    const behind = take(charge());
    await Promise.all([reset, behind]);
    expect((await take(charge())).allowed).toBe(true);
  });

  test('resets while the answer is under way: that is not forgotten', async () => {
    await take(charge(undefined, 5));
    await store.reset([charge(undefined, 1, 'other')]);
    const denied = take(charge());
    const reset = store.reset([charge()]);
    expect((await denied).allowed).toBe(false);
    await reset;
    expect((await take(charge())).allowed).toBe(true);
  });
});

describe('another process', () => {
  test('has another window for it: who waits is admitted when they were told', async () => {
    const before = 'fixed-window 5/1d align=first-request';
    const after = 'fixed-window 5/10s align=first-request';
    const other = storeOf({ clock });
    await store.take([charge(before, 5)]);
    await other.take([charge(after)]);
    clock.advance(50);
    await store.take([charge(before)]);
    let waitedMs = 0;
    for (; waitedMs < 20_000; waitedMs += 100) {
      clock.advance(100);
      if ((await other.take([charge(after)]))[0]?.allowed) break;
    }
    // What the other process has made of it is seen a second later, and is carried over then.
    expect(waitedMs).toBeLessThanOrEqual(11_000);
  });

  test('resets: it is seen within the interval by who comes all the time', async () => {
    const options = { localDenials: '400ms' };
    store = storeOf(options);
    await deny();
    await setTimeout(200);
    const other = storeOf(options);
    await other.reset([charge()]);
    const resetAtMs = performance.now();
    let asked = 0;
    while (!(await take(charge())).allowed) {
      asked += 1;
      await setTimeout(5);
    }
    expect(performance.now() - resetAtMs).toBeLessThan(400);
    // It was denied meanwhile: without that, it would not have been seen late either.
    expect(asked).toBeGreaterThan(3);
  });

  test('resets: it is seen by who comes after the interval, at once', async () => {
    await deny();
    await storeOf({ clock }).reset([charge()]);
    clock.advance(999);
    expect((await take(charge())).allowed).toBe(false);
    await store.reset([charge('5/1h', 1, 'other')]);
    await deny('fixed-window 5/2h');
    await storeOf({ clock }).reset([charge()]);
    clock.advance(1000);
    expect((await take(charge('fixed-window 5/2h'))).allowed).toBe(true);
  });

  test('is asked about once in an interval, in the background', async () => {
    await deny();
    clock.advance(900);
    expect(await questions(() => take(charge()))).toBe(1);
    expect(await questions(() => take(charge()))).toBe(0);
    // And that answer is as good as the first.
    clock.advance(899);
    expect(await questions(() => take(charge()))).toBe(0);
    clock.advance(1);
    expect(await questions(() => take(charge()))).toBe(1);
  });
});

test('of more than are remembered, those denied first are asked about', async () => {
  // Groups, too, whose other subjects are remembered as well.
  const group = (i: number) => [
    charge('fixed-window 0/1h', 1, `g${i}`, 'a'),
    charge('5/1h', 1, `g${i}`, 'b'),
  ];
  for (let i = 0; i < 10_000; i += 200) {
    await Promise.all(Array.from({ length: 200 }, (_, j) => store.take(group(i + j))));
  }
  expect(await questions(() => store.take(group(9_999)))).toBe(0);
  expect(await questions(() => store.take(group(4_999)))).toBe(1);
  const keys = Array.from({ length: 11_000 }, (_, i) => `k${i}`);
  const none = (key: string) => charge('fixed-window 0/1h', 1, key);
  await Promise.all(keys.map((key) => take(none(key))));
  expect(await questions(() => take(none('k10999')))).toBe(0);
  expect(await questions(() => take(none('k1001')))).toBe(0);
  expect(await questions(() => take(none('k999')))).toBe(1);
});
