export { locateRedisServer } from './locate-redis-server.ts';
export type { RedisProgram } from './redis-program.ts';
export { type RedisOptions, type RedisServer, startRedis } from './redis-server.ts';
