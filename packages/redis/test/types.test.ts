import { type Decision, RateLimiter, type Store, type Verdict } from '@floodgate/core';
import { expect, test } from '@jest/globals';
import { expectTypeOf } from 'expect-type';
import * as ioredis6 from 'ioredis';
import type * as ioredis5 from 'ioredis5';
import type * as iovalkey from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { type RedisClient, RedisStore, type RedisStoreOptions } from '../src/index.ts';

// What the types say; the compiler checks it, in the typecheck task.

const policies = [{ name: 'a', quota: '5/1m' }];

test('a client of each library is one, without a cast', () => {
  expectTypeOf<ioredis6.Redis>().toExtend<RedisClient>();
  expectTypeOf<ioredis6.Redis<'resp3'>>().toExtend<RedisClient>();
  expectTypeOf<ioredis5.Redis>().toExtend<RedisClient>();
  expectTypeOf<iovalkey.Redis>().toExtend<RedisClient>();
  expectTypeOf<redis6.RedisClientType>().toExtend<RedisClient>();
  expectTypeOf<redis5.RedisClientType>().toExtend<RedisClient>();
});

test('however node-redis is set up', () => {
  const six = [
    redis6.createClient(),
    redis6.createClient({ RESP: 2 }),
    redis6.createClient({ RESP: 3, keyPrefix: 'app:' }),
    redis6.createClient({ modules: {}, scripts: {}, functions: {} }),
    redis6.createClient({
      commandOptions: { typeMapping: { [redis6.RESP_TYPES.BLOB_STRING]: Buffer } },
    }),
    redis6.createClient().withTypeMapping({ [redis6.RESP_TYPES.BLOB_STRING]: Buffer }),
    redis6.createSentinel({ name: 'main', sentinelRootNodes: [] }),
  ] as const;
  const five = [
    redis5.createClient(),
    redis5.createClient({ RESP: 3 }),
    redis5.createClient().withTypeMapping({ [redis5.RESP_TYPES.BLOB_STRING]: Buffer }),
    redis5.createSentinel({ name: 'main', sentinelRootNodes: [] }),
  ] as const;
  expectTypeOf<(typeof six)[number]>().toExtend<RedisClient>();
  expectTypeOf<(typeof five)[number]>().toExtend<RedisClient>();
});

test('what is none, is none', () => {
  expectTypeOf<string>().not.toExtend<RedisClient>();
  expectTypeOf<typeof ioredis6.Redis>().not.toExtend<RedisClient>();
  expectTypeOf<ReturnType<ioredis6.Redis['pipeline']>>().not.toExtend<RedisClient>();
  expectTypeOf<ReturnType<redis6.RedisClientType['legacy']>>().not.toExtend<RedisClient>();
  expectTypeOf<ReturnType<typeof redis6.createClientPool>>().not.toExtend<RedisClient>();
  expectTypeOf<Promise<redis6.RedisClientType>>().not.toExtend<RedisClient>();
});

test('options name a client, and nothing unknown', () => {
  expectTypeOf<{ prefix: string }>().not.toExtend<RedisStoreOptions>();
  expectTypeOf<RedisStoreOptions['timeout']>().toEqualTypeOf<number | string | undefined>();
});

test('a limiter on Redis answers in promises', () => {
  const client = new ioredis6.Redis({ lazyConnect: true });
  const store = new RedisStore({ client });
  expectTypeOf(store).toExtend<Store>();
  expectTypeOf(store.take).returns.toEqualTypeOf<Promise<Decision[]>>();
  const limiter = new RateLimiter({ policies, store });
  expectTypeOf(limiter.take).returns.toEqualTypeOf<Promise<Verdict>>();
  expectTypeOf(limiter.peek).returns.toEqualTypeOf<Promise<Verdict>>();
  expectTypeOf(limiter.block).returns.toEqualTypeOf<Promise<void>>();
  expectTypeOf(limiter.reset).returns.toEqualTypeOf<Promise<void>>();
  expect(store).toBeInstanceOf(RedisStore);
});
