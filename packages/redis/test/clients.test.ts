import { type Charge, MemoryStore, type Store, type TakeMode, toQuota } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { RedisStore, type RedisStoreOptions } from '../src/index.ts';
import { CLIENT_KINDS, LIBRARIES, type OpenClient } from './clients.ts';

const START_MS = Date.UTC(2026, 0, 1);
const QUOTAS = {
  fixed: 'fixed-window 3/100ms',
  'from-first': 'fixed-window 4/100ms align=first-request block=30ms',
  log: 'sliding-window-log 4/100ms',
  counter: 'sliding-window-counter 4/100ms',
  token: 'token-bucket 5 2/50ms',
  leaky: 'leaky-bucket 5 2/50ms',
};

/** One charge by each algorithm. */
function charges(cost: number, key = 'ip:203.0.113.7'): Charge[] {
  return Object.entries(QUOTAS).map(([policy, text]) => ({
    policy,
    key,
    quota: toQuota(text),
    cost,
    advisory: policy === 'fixed',
  }));
}

function taking(mode: TakeMode, cost: number) {
  return (store: Store) => store.take(charges(cost), { mode });
}

function refunding(cost: number, takenAt: number) {
  const atMs = START_MS + takenAt;
  return (store: Store) => store.refund(charges(cost).map((charge) => ({ ...charge, atMs })));
}

const TIMELINE: readonly [at: number, act: (store: Store) => unknown][] = [
  [0, taking('peek', 1)],
  [0, taking('take', 1)],
  [10, taking('take', 2)],
  [20, taking('peek', 1)],
  [20, taking('take', 1)],
  [20, taking('take', 2)],
  [30, taking('force', 3)],
  [30, taking('take', 0)],
  [40, refunding(2, 10)],
  [40, refunding(2, 30)],
  [40, taking('peek', 1)],
  [130, taking('take', 1)],
  [140, (store) => store.block(charges(1), 50)],
  [150, taking('take', 1)],
  [160, (store) => store.block(charges(1), 0)],
  [160, taking('peek', 1)],
  [210, taking('take', 2)],
  [220, (store) => store.reset(charges(1).slice(0, 3))],
  [220, taking('peek', 1)],
  // The clock steps back.
  [50, taking('take', 1)],
];

/** What is answered at each step. */
async function play(store: Store, clock: ManualClock): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const [at, act] of TIMELINE) {
    clock.set(START_MS + at);
    answers.push((await act(store)) ?? 'nothing');
  }
  return answers;
}

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => server.command('FLUSHALL'));

const QUOTA = toQuota('sliding-window-log 150/1h');
const SUBJECT = { policy: 'per-hour', key: 'ip:203.0.113.7' };
const CHARGE: Charge = { ...SUBJECT, quota: QUOTA, cost: 1 };

async function take(store: Store, mode: TakeMode = 'take'): Promise<number | false> {
  const [decision] = await store.take([CHARGE], { mode });
  return decision?.allowed === true && decision.remaining;
}

describe.each(CLIENT_KINDS)('$name', ({ keyPrefix, open }) => {
  let connection: OpenClient;
  beforeAll(async () => {
    connection = await open(server);
  });
  afterAll(() => connection.close());

  function storeOf(options: Partial<RedisStoreOptions> = {}): RedisStore {
    return new RedisStore({ client: connection.client, timeout: '10s', ...options });
  }

  test('answers as a memory store does', async () => {
    const clock = new ManualClock();
    const expected = await play(new MemoryStore({ clock }), clock);
    expect(await play(storeOf({ clock }), clock)).toEqual(expected);
  });

  test('finds again what it wrote, under one name', async () => {
    const store = storeOf();
    await take(store);
    expect(await server.command('KEYS', '*')).toEqual([
      `${keyPrefix}floodgate:{ip:203.0.113.7}:per-hour`,
    ]);
    expect(await take(store, 'peek')).toBe(148);
    await store.reset([SUBJECT]);
    expect(await server.command('KEYS', '*')).toEqual([]);
    expect(await take(store, 'peek')).toBe(149);
  });

  test('counts exactly what is asked in one turn of the event loop', async () => {
    const store = storeOf();
    const answers = await Promise.all(Array.from({ length: 200 }, () => take(store)));
    const admitted = answers.filter((remaining) => remaining !== false);
    expect(admitted.sort((a, b) => b - a)).toEqual(Array.from({ length: 150 }, (_, i) => 149 - i));
  });
});

describe('clients and stores beside each other', () => {
  const connections: OpenClient[] = [];
  afterEach(() => {
    for (const { close } of connections.splice(0)) close();
  });

  async function open(): Promise<OpenClient[]> {
    connections.push(...(await Promise.all(LIBRARIES.map((kind) => kind.open(server)))));
    return connections;
  }

  test('all libraries, and all versions of them, keep one count', async () => {
    const stores = (await open()).map(({ client }) => new RedisStore({ client, timeout: '10s' }));
    const answers: (number | false)[] = [];
    for (const store of [...stores, ...stores]) answers.push(await take(store));
    expect(answers).toEqual([149, 148, 147, 146, 145, 144, 143, 142, 141, 140]);
  });

  test('stores with other prefixes keep counts of their own, on one client', async () => {
    for (const { client } of await open()) {
      const [one, other] = ['one', 'other'].map(
        (prefix) => new RedisStore({ client, prefix, timeout: '10s' }),
      ) as [RedisStore, RedisStore];
      expect(await Promise.all([take(one), take(other), take(one)])).toEqual([149, 149, 148]);
      await one.reset([SUBJECT]);
      expect(await Promise.all([take(one), take(other)])).toEqual([149, 148]);
      await other.reset([SUBJECT]);
      await one.reset([SUBJECT]);
    }
  });

  test('a closed store leaves its client to the others', async () => {
    for (const { client } of await open()) {
      const [closed, open] = [
        new RedisStore({ client }),
        new RedisStore({ client, timeout: '10s' }),
      ];
      closed.close();
      await expect(take(closed)).rejects.toMatchObject({ code: 'FLOODGATE_STORE_CLOSED' });
      expect(await take(open, 'peek')).toBe(149);
    }
  });
});
