import { type Charge, type Clock, type Store, toQuota } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { RedisStore } from '../src/index.ts';
import { callsOf } from './calls-of.ts';
import { ioredis5, ioredis6, iovalkey, LIBRARIES, type OpenClient } from './clients.ts';

// A server that was restarted, or told to, has forgotten the scripts. Nobody notices.

const CHARGE: Charge = { policy: 'p', key: 'k', quota: toQuota('fixed-window 1000/1d'), cost: 1 };

async function look(store: Store, index = 0): Promise<{ remaining: number; blocked: boolean }> {
  const [decision] = await store.take([{ ...CHARGE, key: `k${index}`, cost: 0 }]);
  const { remaining = Number.NaN, blocked = false } = decision ?? {};
  return { remaining, blocked };
}

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const enableAutoPipelining = true;

describe.each([
  ...LIBRARIES,
  ioredis6(', auto-pipelining', { enableAutoPipelining }),
  ioredis5(', auto-pipelining', { enableAutoPipelining }),
  iovalkey(', auto-pipelining', { enableAutoPipelining }),
])('$name', ({ open }) => {
  const clock = new ManualClock();
  let connection: OpenClient;
  let store: RedisStore;
  beforeAll(async () => {
    connection = await open(server);
  });
  beforeEach(async () => {
    await server.command('FLUSHALL');
    store = new RedisStore({ client: connection.client, clock, timeout: '20s' });
  });
  afterAll(() => connection.close());

  /** Of every subject `k0`, `k1`, … */
  const each = (count: number) =>
    Array.from({ length: count }, (_, i): Charge => ({ ...CHARGE, key: `k${i}` }));

  /** So that each is a call of its own, though all are made in one turn: they are not made at one time. */
  const eachAtItsTime = <T>(count: number, act: (charge: Charge) => T): T[] =>
    each(count).map((charge) => {
      clock.advance(1);
      return act(charge);
    });

  const OPERATIONS: Record<string, (charge: Charge) => [act: unknown, leaves: object]> = {
    take: (charge) => [store.take([charge]), { remaining: 897, blocked: false }],
    refund: (charge) => [
      store.refund([{ ...charge, atMs: clock.now() }]),
      { remaining: 899, blocked: false },
    ],
    block: (charge) => [store.block([charge], 60_000), { remaining: 0, blocked: true }],
    reset: (charge) => [store.reset([charge]), { remaining: 1000, blocked: false }],
  };

  describe.each(Object.entries(OPERATIONS))('%s', (_, operation) => {
    test('is sent by each store at first, and by its hash behind that', async () => {
      await server.command('CONFIG', 'RESETSTAT');
      const operations = eachAtItsTime(10, operation);
      await Promise.all(operations.map(([act]) => act));
      expect(await callsOf(server, 'eval')).toBe(1);
      expect(await callsOf(server, 'evalsha')).toBe(9);
    });

    test.each([1, 100])('is sent once to a server that forgot it: %d at once', async (n) => {
      await operation({ ...CHARGE, key: 'before' })[0];
      await Promise.all(each(n).map((charge) => store.take([{ ...charge, cost: 102 }])));
      await server.command('SCRIPT', 'FLUSH');
      await server.command('CONFIG', 'RESETSTAT');

      const operations = eachAtItsTime(n, operation);
      await Promise.all(operations.map(([act]) => act));
      // One call sends the text, and all others come again once it has.
      expect(await callsOf(server, 'eval')).toBe(1);
      expect(await callsOf(server, 'evalsha')).toBe(2 * n - 1);
      // From then on, its hash does.
      const others = eachAtItsTime(n, (charge) => operation({ ...charge, key: 'other' })[0]);
      await Promise.all(others);
      expect(await callsOf(server, 'eval')).toBe(1);
      expect(await callsOf(server, 'evalsha')).toBe(3 * n - 1);

      const left = await Promise.all(each(n).map((_, i) => look(store, i)));
      expect(left).toEqual(operations.map(([, leaves]) => leaves));
    });
  });

  test('all of them go on after a restart of the server', async () => {
    const ready = new Promise((resolve) => connection.client.once('ready', resolve));
    await server.restart();
    await ready;

    const takes = Array.from({ length: 100 }, () => store.take([{ ...CHARGE, key: 'k0' }]));
    const remaining = (await Promise.all(takes)).map(([decision]) => decision?.remaining);
    expect(remaining.sort()).toEqual(Array.from({ length: 100 }, (_, i) => 999 - i).sort());
    await store.refund([{ ...CHARGE, key: 'k0', cost: 10, atMs: clock.now() }]);
    expect(await look(store)).toEqual({ remaining: 910, blocked: false });
    await store.block([{ ...CHARGE, key: 'k0' }], 60_000);
    expect(await look(store)).toEqual({ remaining: 0, blocked: true });
    await store.reset([{ ...CHARGE, key: 'k0' }]);
    expect(await look(store)).toEqual({ remaining: 1000, blocked: false });
  });
});

describe('the time', () => {
  test.each<[whose: string, clock: Clock | 'server', calls: number]>([
    ['the server’s', 'server', 5],
    ['a given clock’s', new ManualClock(), 0],
  ])('is %s', async (_, clock, calls) => {
    const { client, close } = await ioredis6('').open(server);
    const store = new RedisStore({ client, clock, timeout: '20s' });
    await server.command('CONFIG', 'RESETSTAT');

    await store.take([CHARGE]);
    const [decision] = await store.take([CHARGE], { mode: 'peek' });
    await store.refund([{ ...CHARGE, atMs: decision?.atMs ?? 0 }]);
    await store.block([CHARGE], 1_000);
    await store.block([CHARGE], 0);
    await store.reset([CHARGE]);
    expect(await callsOf(server, 'time')).toBe(calls);
    close();
  });
});
