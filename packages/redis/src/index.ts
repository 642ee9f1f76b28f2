export { RedisStore, type RedisStoreOptions } from './redis-store.ts';
export type {
  IoredisClient,
  IoredisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisMaster,
  RedisClient,
} from './client.ts';
