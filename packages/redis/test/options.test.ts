import { type Clock, type FloodgateError, toQuota } from '@floodgate/core';
import { describe, expect, test } from '@jest/globals';
import * as ioredis from 'ioredis';
import * as ioredis5 from 'ioredis5';
import * as iovalkey from 'iovalkey';
import * as redis from 'redis';
import * as redis5 from 'redis5';
import { RedisStore } from '../src/index.ts';

// No client here connects.

const LAZY = { lazyConnect: true };
const NODES = [{ host: 'localhost', port: 6379 }];

/** What the constructor throws. */
function refusal(options: unknown): FloodgateError {
  try {
    new RedisStore(options as never);
  } catch (error) {
    return error as FloodgateError;
  }
  throw new Error('Expected the options to be refused');
}

describe('clients', () => {
  // To the compiler, their overloads are not alike.
  const libraries = {
    'ioredis 6': ioredis,
    'ioredis 5': ioredis5 as never as typeof ioredis,
    iovalkey: iovalkey as never as typeof ioredis,
  };
  const nodeRedis = { 'node-redis 6': redis, 'node-redis 5': redis5 as never as typeof redis };
  const { Redis } = ioredis;

  test.each<[name: string, client: unknown]>([
    ...Object.entries(libraries).flatMap(([name, { Cluster, Redis }]): [string, unknown][] => [
      [name, new Redis(LAZY)],
      [`${name}, of a cluster`, new Cluster(NODES, LAZY)],
      [`${name}, a duplicate`, new Redis(LAZY).duplicate()],
      [`${name}, by sentinels`, new Redis({ ...LAZY, sentinels: NODES, name: 'main' })],
    ]),
    ...Object.entries(nodeRedis).flatMap(([name, library]): [string, unknown][] => [
      [name, library.createClient()],
      [`${name}, of a cluster`, library.createCluster({ rootNodes: [] })],
      [`${name}, a duplicate`, library.createClient().duplicate()],
      [`${name}, with other types`, library.createClient().withTypeMapping({ 36: Buffer })],
      [`${name}, by sentinels`, library.createSentinel({ name: 'main', sentinelRootNodes: NODES })],
    ]),
  ])('takes one of %s', (_, client) => {
    expect(() => new RedisStore({ client } as never)).not.toThrow();
  });

  test.each<[name: string, client: unknown]>([
    ...Object.entries(libraries).flatMap(([name, { Redis }]): [string, unknown][] => [
      [`the class of ${name}`, Redis],
      [`a pipeline of ${name}`, new Redis(LAZY).pipeline()],
      [`a transaction of ${name}`, new Redis(LAZY).multi()],
    ]),
    ...Object.entries(nodeRedis).flatMap(([name, library]): [string, unknown][] => [
      [`\`createClient\` of ${name}`, library.createClient],
      [`a client before version 4 from ${name}`, library.createClient().legacy()],
      [`a transaction of ${name}`, library.createClient().multi()],
      // It does not say whether it is connected.
      [`a pool of ${name}`, library.createClientPool()],
      [`a promise of ${name}`, Promise.resolve(library.createClient())],
      [`the module ${name}`, library],
    ]),
    ['nothing', undefined],
    ['null', null],
    ['a number', 6379],
    ['what connects by HTTP', { eval: () => {}, evalsha: () => {} }],
    ['a plain object', { host: 'localhost', port: 6379 }],
  ])('refuses %s', (_, client) => {
    const error = refusal({ client });
    expect(error).toMatchObject({ code: 'FLOODGATE_INVALID_OPTION' });
    expect(error.message).toMatch(
      /^Expected `client` to be a client of `ioredis` or `iovalkey`, or/,
    );
  });

  test('refuses a URL, and does not tell its password', () => {
    expect(refusal({ client: 'redis://me:secret@localhost:6379' }).message).toMatch(
      /^Expected `client` to be .*, got `"redis:\/\/…@localhost:6379"`$/,
    );
  });

  test('are not touched at construction', () => {
    const client = new Redis(LAZY);
    new RedisStore({ client });
    expect([client.status, client.listenerCount('error')]).toEqual(['wait', 0]);
  });
});

describe('other options', () => {
  const client = new ioredis.Redis(LAZY);

  test.each<[name: string, value: unknown]>([
    ['prefix', ''],
    ['prefix', 'a{b'],
    ['prefix', 'a}b'],
    ['prefix', 7],
    ['prefix', null],
    ['timeout', 'soon'],
    ['timeout', ''],
    ['timeout', '100'],
    ['timeout', 0],
    ['timeout', '0ms'],
    ['timeout', -1],
    ['timeout', 0.5],
    ['timeout', Number.NaN],
    ['timeout', Number.POSITIVE_INFINITY],
    ['timeout', '61s'],
    ['timeout', null],
    ['clock', 'client'],
    ['clock', null],
    ['clock', {}],
    ['clock', Date.now],
    ['clock', 0],
    ['localDenials', true],
    ['localDenials', 0],
    ['localDenials', '0s'],
    ['localDenials', null],
    ['localDenials', 'never'],
  ])('%s is not %p', (name, value) => {
    const error = refusal({ client, [name]: value });
    expect(error).toMatchObject({ code: 'FLOODGATE_INVALID_OPTION' });
    expect(error.message).toContain(`Expected \`${name}\` to be `);
  });

  test.each([
    { prefix: 'my app:limits' },
    { timeout: '2s' },
    { timeout: 1 },
    { clock: Date },
    { localDenials: false },
    { localDenials: 250 },
  ])('may be %p', (option) => {
    expect(() => new RedisStore({ client, ...option } as never)).not.toThrow();
  });

  test('none has another name', () => {
    expect(refusal({ client, keyPrefix: 'app:' }).message).toBe(
      'Expected `RedisStore options` to have only `client`, `prefix`, `timeout`, `clock`, `localDenials`, got `keyPrefix`',
    );
  });

  test.each([[undefined], [null], [client], ['redis://localhost']])('are an object', (options) => {
    expect(refusal(options)).toMatchObject({ code: 'FLOODGATE_INVALID_OPTION' });
  });

  test('a store with the server’s time has no clock, and one with another has that', () => {
    const clock: Clock = { now: () => 0 };
    expect(new RedisStore({ client }).clock).toBeUndefined();
    expect(new RedisStore({ client, clock }).clock).toBe(clock);
  });

  test.each([0.5, -1, Number.NaN, '1', undefined, new Date(0), 1e300])(
    'a clock that says %p fails each call',
    async (now) => {
      const store = new RedisStore({ client, clock: { now: () => now as number } });
      const charge = { policy: 'p', key: 'k', quota: toQuota('5/1m'), cost: 1 };
      for (const call of [
        store.take([charge]),
        store.refund([{ ...charge, atMs: 0 }]),
        store.block([charge], 1),
      ]) {
        await expect(call).rejects.toMatchObject({
          code: 'FLOODGATE_INVALID_OPTION',
          message: expect.stringMatching(/^Expected `clock` to be a clock of whole milliseconds/),
        });
      }
      expect(client.status).toBe('wait');
    },
  );
});
