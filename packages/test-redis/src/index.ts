export { locateRedisServer } from './locate-redis-server.ts';
export type { RedisProgram } from './redis-program.ts';
export { type RedisOptions, type RedisServer, startRedis } from './redis-server.ts';
export { type ClusterOptions, type RedisCluster, startCluster } from './redis-cluster.ts';
export type { SlotMove } from './slot-move.ts';
