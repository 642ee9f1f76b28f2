export { RedisStore, type RedisStoreOptions } from './redis-store.ts';
export type { IoredisClient, NodeRedisClient, RedisClient } from './client.ts';
