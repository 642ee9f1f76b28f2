import type { EventEmitter } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import {
  type FloodgateEvent,
  RateLimiter,
  type RateLimiterOptions,
  toQuota,
} from '@floodgate/core';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type RedisClient, RedisStore } from '../src/index.ts';
import { ioredis6, LIBRARIES, type OpenClient } from './clients.ts';

const TIMEOUT_MS = 100;

let server: RedisServer;
const opened: OpenClient[] = [];
beforeAll(async () => {
  server = await startRedis();
});
afterEach(async () => {
  for (const { close } of opened.splice(0)) close();
  await server.restart();
});
afterAll(() => server.stop());

async function connect(kind = ioredis6('')): Promise<RedisClient> {
  const open = await kind.open(server);
  opened.push(open);
  return open.client;
}

type Options = Partial<RateLimiterOptions<RedisStore>>;

function limiterOf(client: RedisClient, options: Options = {}) {
  const store = new RedisStore({ client, timeout: TIMEOUT_MS, localDenials: false });
  const events: FloodgateEvent[] = [];
  const limiter = new RateLimiter({
    store,
    policies: [{ name: 'a', quota: 'fixed-window 5/1h align=first-request' }],
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { store, limiter, events, codes: () => events.map(({ code }) => code) };
}

/** What Redis itself has charged, asked by a client of its own. */
async function chargedInRedis(): Promise<number> {
  const { limiter } = limiterOf(await connect());
  const { tightest } = await limiter.peek('k', { cost: 0 });
  return tightest.limit - tightest.remaining;
}

/** Ends the server, and waits until a client has noticed. */
async function crash(client: RedisClient): Promise<void> {
  const event = 'isReady' in client ? 'reconnecting' : 'close';
  const noticed = new Promise((resolve) => {
    (client as unknown as EventEmitter).once(event, resolve);
  });
  await server.crash();
  await noticed;
}

/** Until all of a test's limiters ask Redis again, as a server's requests would. */
async function untilShared(limiter: RateLimiter<RedisStore>): Promise<void> {
  while ((await limiter.peek('somebody else')).degraded !== undefined) await setTimeout(20);
}

describe.each(LIBRARIES)('with a client of $name', (kind) => {
  test('that lost its connection, requests are decided at once, by each rule', async () => {
    const client = await connect(kind);
    const { limiter, codes } = limiterOf(client, {
      policies: [
        { name: 'local', quota: 'fixed-window 5/1h' },
        { name: 'allow', quota: 'fixed-window 5/1h', onStoreError: 'allow' },
        { name: 'deny', quota: 'fixed-window 5/1h', onStoreError: 'deny' },
      ],
    });
    await crash(client);
    const startedAt = performance.now();
    for (const [policy, allowed] of [
      ['local', [true, true, true, true, true, false]],
      ['allow', [true, true, true, true, true, true]],
      ['deny', [false, false, false, false, false, false]],
    ] as const) {
      const verdicts = [];
      for (let i = 0; i < 6; i += 1) verdicts.push(await limiter.take([{ policy, key: 'k' }]));
      expect(verdicts.map(({ allowed }) => allowed)).toEqual(allowed);
      expect(verdicts[0]?.degraded).toMatchObject({
        rule: policy,
        error: {
          code: 'FLOODGATE_STORE_FAILED',
          message: expect.stringMatching(/not connected/),
        },
      });
    }
    // Eighteen decisions in less than the time that one may take.
    expect(performance.now() - startedAt).toBeLessThan(TIMEOUT_MS);
    expect(codes()).toEqual(['degraded']);
    await server.start();
    await untilShared(limiter);
    expect(codes()).toEqual(['degraded', 'recovered']);
  });

  test('whose server hangs, a decision takes no longer than the deadline, and soon no time at all', async () => {
    const { limiter, events } = limiterOf(await connect(kind));
    await limiter.take('k');
    server.pause();
    const times: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      const startedAt = performance.now();
      const verdict = await limiter.take('k');
      times.push(performance.now() - startedAt);
      expect(verdict.degraded?.error.message).toMatch(/no answer within 100 ms|has not answered/);
    }
    // Not a test of speed: a deadline is kept or it is not.
    for (const time of times.slice(0, 5)) expect(time).toBeGreaterThan(TIMEOUT_MS - 5);
    for (const time of times.slice(5)) expect(time).toBeLessThan(TIMEOUT_MS / 2);
    server.resume();
    await untilShared(limiter);
    expect(events.map(({ code }) => code)).toEqual(['degraded', 'recovered']);
  });

  test('a server that comes back empty counts again', async () => {
    const { limiter } = limiterOf(await connect(kind));
    await limiter.take('k', { cost: 5 });
    await server.restart();
    await untilShared(limiter);
    const verdict = await limiter.take('k', { cost: 5 });
    expect(verdict).toMatchObject({ allowed: true, degraded: undefined });
    expect(await chargedInRedis()).toBe(5);
  });
});

test('a silent server is asked again by one request, and all others are decided meanwhile', async () => {
  const { limiter } = limiterOf(await connect());
  await limiter.take('k');
  server.pause();
  const timed = async () => {
    const startedAt = performance.now();
    await limiter.take('k');
    return performance.now() - startedAt >= TIMEOUT_MS - 5;
  };
  const waited = async (requests: number) => {
    const pending = [];
    for (let i = 0; i < requests; i += 1) {
      pending.push(timed());
      // Those of one turn would be one call.
      await setImmediate();
    }
    return (await Promise.all(pending)).filter(Boolean).length;
  };
  expect(await waited(20)).toBe(20);
  expect(await waited(20)).toBe(0);
  for (let i = 0; i < 3; i += 1) {
    await setTimeout(600);
    expect(await waited(20)).toBe(1);
  }
});

test('a silent server is found again though the clock of the process was set back meanwhile', async () => {
  const { limiter } = limiterOf(await connect());
  await limiter.take('k');
  server.pause();
  for (let i = 0; i < 6; i += 1) await limiter.take('k');
  const anHourAgoMs = Date.now() - 3_600_000;
  const now = jest.spyOn(Date, 'now').mockReturnValue(anHourAgoMs);
  server.resume();
  await untilShared(limiter);
  now.mockRestore();
});

describe('a client that is not connected makes nobody wait', () => {
  test('not yet', async () => {
    const client = new Redis({ host: server.host, port: server.port });
    opened.push({ client, close: () => client.disconnect() });
    const { limiter } = limiterOf(client);
    const first = await limiter.take('k');
    expect(first.degraded?.error.message).toMatch(/not connected/);
    await untilShared(limiter);
  });

  test('because it connects only when something is sent: then that is sent', async () => {
    const client = new Redis({ host: server.host, port: server.port, lazyConnect: true });
    opened.push({ client, close: () => client.disconnect() });
    const { limiter } = limiterOf(client);
    const first = await limiter.take('k');
    expect(first).toMatchObject({ allowed: true, degraded: { rule: 'local' } });
    await untilShared(limiter);
    // The request was served, so what Redis was told of it stands.
    expect(await chargedInRedis()).toBe(1);
  });

  test("and what that charged is given back, where nobody was served: 'deny'", async () => {
    const client = new Redis({ host: server.host, port: server.port, lazyConnect: true });
    opened.push({ client, close: () => client.disconnect() });
    const { limiter } = limiterOf(client, { onStoreError: 'deny' });
    expect((await limiter.take('k')).allowed).toBe(false);
    await untilShared(limiter);
    await limiter.peek('k');
    expect(await chargedInRedis()).toBe(0);
  });

  test('to a port where nobody is', async () => {
    const client = new Redis({ host: server.host, port: 1, lazyConnect: true });
    client.on('error', () => {});
    opened.push({ client, close: () => client.disconnect() });
    const { limiter, codes } = limiterOf(client);
    for (let i = 0; i < 10; i += 1) {
      expect((await limiter.take('k')).degraded?.rule).toBe('local');
    }
    expect(codes()).toEqual(['degraded']);
  });
});

describe('an answer that comes too late is ignored', () => {
  test.each([
    { rule: 'deny', charged: 0, why: 'given back, since the request was not served' },
    { rule: 'local', charged: 1, why: 'kept, since the request was served' },
    { rule: 'allow', charged: 1, why: 'kept, since the request was served' },
  ] as const)("under '$rule' its charge is $why", async ({ rule, charged }) => {
    const { limiter, codes } = limiterOf(await connect(), { onStoreError: rule });
    await limiter.peek('k');
    server.pause();
    const verdict = await limiter.take('k');
    expect(verdict).toMatchObject({ allowed: rule !== 'deny', degraded: { rule } });
    server.resume();
    await untilShared(limiter);
    // What is given back is sent before anything that is asked after it.
    await limiter.peek('k');
    expect(await chargedInRedis()).toBe(charged);
    expect(codes()).toEqual(['degraded', 'recovered']);
  });
});

test('a busy process takes an answer that is there for one that came in time', async () => {
  const { limiter } = limiterOf(await connect());
  await limiter.take('k');
  const pending = limiter.take('k');
  const startedAt = performance.now();
  while (performance.now() - startedAt < 3 * TIMEOUT_MS);
  expect((await pending).degraded).toBeUndefined();
});

describe('a server that replies with an error', () => {
  test('was there: silences before and after do not add up to five in a row', async () => {
    const { limiter } = limiterOf(await connect());
    await limiter.take('k');
    for (let i = 0; i < 7; i += 1) {
      server.pause();
      expect((await limiter.take('k')).degraded?.error.message).toMatch(/no answer within/);
      await server.resume();
      await server.command('SET', 'floodgate:{odd}:a', '2t;');
      expect((await limiter.take('odd')).degraded?.error.message).toMatch(/later version/);
    }
  });

  test('has failed, by its own words, and is asked again at once', async () => {
    const { limiter } = limiterOf(await connect());
    await limiter.take('k');
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    for (let i = 0; i < 10; i += 1) {
      const { degraded } = await limiter.take('k');
      expect(degraded?.error.message).toMatch(/OOM/);
      expect(degraded?.error.cause).toBeInstanceOf(Error);
    }
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    expect((await limiter.take('k')).degraded).toBeUndefined();
  });
});

describe('a verdict settles on the store that made it', () => {
  test('Redis, though it is away by then', async () => {
    const client = await connect();
    const { limiter, codes } = limiterOf(client);
    const verdict = await limiter.take('k', { cost: 3 });
    await crash(client);
    await verdict.settle(1);
    expect(codes()).toEqual(['settle-failed']);
    // Nothing was given back to the one that stands in.
    const local = await limiter.take('k', { cost: 0 });
    expect(local.tightest).toMatchObject({ remaining: 5, degraded: 'local' });
  });

  test('the one that stood in, though Redis is back by then', async () => {
    const client = await connect();
    const { limiter } = limiterOf(client);
    await crash(client);
    const verdict = await limiter.take('k', { cost: 3 });
    await server.start();
    await untilShared(limiter);
    await limiter.take('k', { cost: 2 });
    await verdict.settle(0);
    expect(await chargedInRedis()).toBe(2);
  });
});

test("who is denied or blocked stays so in 'local'", async () => {
  const client = await connect();
  const { limiter } = limiterOf(client);
  await limiter.take('k', { cost: 5 });
  expect((await limiter.take('k')).allowed).toBe(false);
  await limiter.block('rude', '1h');
  await crash(client);
  expect(await limiter.take('k')).toMatchObject({ allowed: false, degraded: { rule: 'local' } });
  expect((await limiter.take('rude')).tightest).toMatchObject({ blocked: true, allowed: false });
  expect((await limiter.take('another')).allowed).toBe(true);
});

test("what an operator's program asks for at its start is done once the client is connected", async () => {
  const client = new Redis({ host: server.host, port: server.port });
  opened.push({ client, close: () => client.disconnect() });
  const { limiter } = limiterOf(client);
  await limiter.block('k', '1h');
  expect((await limiter.take('k')).tightest).toMatchObject({ blocked: true, degraded: undefined });
});

test('what an operator asks for fails where Redis is away, in time and with a code', async () => {
  const client = await connect();
  const { limiter } = limiterOf(client);
  await crash(client);
  const failed = expect.objectContaining({ code: 'FLOODGATE_STORE_FAILED' });
  await expect(limiter.block('k', '1m')).rejects.toEqual(failed);
  await expect(limiter.unblock('k')).rejects.toEqual(failed);
  await expect(limiter.reset('k')).rejects.toEqual(failed);
});

test('thousands of subjects are met, blocked, forgiven and reset in one call', async () => {
  const store = new RedisStore({ client: await connect(), timeout: '30s' });
  const quota = toQuota('5/1h');
  const charges = Array.from({ length: 10_000 }, (_, i) => ({
    policy: 'a',
    key: `k${i}`,
    quota,
    cost: 1,
  }));
  const decisions = await store.take(charges);
  expect(decisions.every(({ allowed }) => allowed)).toBe(true);
  await store.refund(charges.map((charge, i) => ({ ...charge, atMs: decisions[i]?.atMs ?? 0 })));
  await store.block(charges, 60_000);
  await store.reset(charges);
  const [last] = await store.take(charges.slice(-1), { mode: 'peek' });
  expect(last).toMatchObject({ allowed: true, remaining: 4 });
  expect(await server.command('DBSIZE')).toBe(0);
});

test('a closed store takes no more, and leaves the client open', async () => {
  const client = (await connect()) as Redis;
  const { store } = limiterOf(client);
  store.close();
  const closed = expect.objectContaining({ code: 'FLOODGATE_STORE_CLOSED' });
  await expect(store.reset([{ policy: 'a', key: 'k' }])).rejects.toEqual(closed);
  expect(await client.ping()).toBe('PONG');
});
