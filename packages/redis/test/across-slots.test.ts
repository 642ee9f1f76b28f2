import { setTimeout } from 'node:timers/promises';
import { type Charge, type Decision, RateLimiter, toQuota } from '@floodgate/core';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisStore } from '../src/index.ts';
import { type Hook, SplitClient } from './children/split-client.ts';

// What goes wrong between the slots of one take: never more is admitted, and what was taken for nothing is given back.

const TIMEOUT_MS = 300;
/** What a busy machine may add. */
const SLACK_MS = 150;

let server: RedisServer;
let client: Redis;
let split: SplitClient;
let store: RedisStore;
/** By which the test itself takes and looks. */
let other: RedisStore;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
});
beforeEach(async () => {
  await client.flushall();
  split = new SplitClient(client);
  store = new RedisStore({ client: split, timeout: TIMEOUT_MS, localDenials: false });
  other = new RedisStore({ client, timeout: '30s', localDenials: false });
  // The process, and the server, have seen it all.
  await store.take([charge('a'), charge('b')]);
  await client.flushall();
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

function charge(key: string, quota = '10/1h', cost = 1): Charge {
  return { policy: 'policy', key, quota: toQuota(quota), cost };
}

const narrow = charge('narrow', '5/1h');
const wide = charge('wide', '10/1h');

async function left(...charges: Charge[]): Promise<number[]> {
  const asked = charges.map((one) => ({ ...one, cost: 0 }));
  const decisions = await other.take(asked, { mode: 'peek' });
  return decisions.map(({ remaining }) => remaining);
}

/** Between the question and the charge, somebody else takes the last unit of the wide key. */
function losingTheRace(more: Hook = () => {}): Hook {
  let isLost = false;
  return async (operation, key) => {
    if (operation === 'take' && key.includes('wide') && !isLost) {
      isLost = true;
      await other.take([{ ...wide, cost: 10 }]);
    }
    await more(operation, key);
  };
}

/** Until something is so. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await setTimeout(5);
}

test('denied by the last one after all: what the first one took is given back', async () => {
  split.hook = losingTheRace();
  const decisions = await store.take([wide, narrow]);
  expect(decisions).toMatchObject([
    { allowed: false, remaining: 0 },
    { allowed: true, remaining: 5 },
  ]);
  await eventually(async () => (await left(narrow))[0] === 5);
  expect(await left(narrow, wide)).toEqual([5, 0]);
});

test('what cannot be given back now is given back later, once', async () => {
  let refusals = 3;
  split.hook = losingTheRace((operation) => {
    if (operation !== 'refund' || refusals === 0) return;
    refusals -= 1;
    throw new Error('CLUSTERDOWN Hash slot not served');
  });
  await other.take([{ ...narrow, cost: 2 }]);
  expect((await store.take([narrow, wide])).map(({ allowed }) => allowed)).toEqual([true, false]);
  expect(await left(narrow)).toEqual([2]);
  await eventually(async () => (await left(narrow))[0] === 3);
  await setTimeout(300);
  expect([refusals, await left(narrow)]).toEqual([0, [3]]);
});

test('what may have been given back is not given back again, and that is told', async () => {
  split.hook = losingTheRace((operation) => {
    if (operation === 'refund') throw new Error('Connection is closed.');
  });
  const codes: string[] = [];
  const limiter = new RateLimiter({
    store,
    policies: [{ name: 'policy', quota: '5/1h' }],
    onEvent: ({ code }) => codes.push(code),
  });
  const { allowed, degraded } = await limiter.take([narrow, wide]);
  expect([allowed, degraded]).toEqual([false, undefined]);
  await eventually(async () => codes.length > 0);
  await setTimeout(300);
  expect(codes).toEqual(['settle-failed']);
  expect(await left(narrow)).toEqual([4]);
});

test('of which one is too late, are given back, all of them', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  split.hook = (operation, key) =>
    operation === 'take' && key.includes('wide') ? held : undefined;
  const startedAt = performance.now();
  await expect(store.take([narrow, wide])).rejects.toMatchObject({
    code: 'FLOODGATE_STORE_FAILED',
    message: expect.stringContaining(`no answer within ${TIMEOUT_MS} ms`),
  });
  expect(performance.now() - startedAt).toBeLessThan(TIMEOUT_MS + SLACK_MS);
  release();
  await eventually(async () => (await left(narrow, wide)).join() === '5,10');
});

test('all of them together take no longer than one may', async () => {
  split.hook = () => setTimeout(TIMEOUT_MS * 0.6);
  const startedAt = performance.now();
  const taken = store.take(['a', 'b', 'c', 'd', 'e'].map((key) => charge(key)));
  await expect(taken).rejects.toMatchObject({ code: 'FLOODGATE_STORE_FAILED' });
  expect(performance.now() - startedAt).toBeLessThan(TIMEOUT_MS + SLACK_MS);
  split.hook = () => {};
  const keys = ['a', 'b', 'c', 'd', 'e'].map((key) => charge(key));
  await eventually(async () => (await left(...keys)).every((units) => units === 10));
});

test('who is denied by what is only held is not blocked for it', async () => {
  const strict = charge('narrow', '1/1h block=1h');
  const meanwhile: Decision[] = [];
  split.hook = losingTheRace(async (operation, key) => {
    if (operation === 'take' && key.includes('wide')) {
      meanwhile.push(...(await store.take([strict])));
    }
  });
  const [first] = await store.take([strict, wide]);
  expect(first).toMatchObject({ allowed: true });
  expect(meanwhile).toMatchObject([{ allowed: false, blocked: false }]);
  await eventually(async () => (await left(strict))[0] === 1);
  expect(await store.take([strict])).toMatchObject([{ allowed: true }]);
  expect(await store.take([strict])).toMatchObject([{ allowed: false, blocked: true }]);
});

test('who is denied beside another one that denies is blocked, though nothing was charged', async () => {
  const strict = charge('narrow', '1/1h block=1h');
  await other.take([strict, { ...wide, cost: 10 }]);
  expect(await store.take([strict, wide])).toMatchObject([{ blocked: true }, { allowed: false }]);
  await other.reset([wide]);
  await eventually(async () => (await other.take([strict], { mode: 'peek' }))[0]?.blocked === true);
  expect(await left(wide)).toEqual([10]);
});
