// Says where the Redis server is, having fetched or installed it if need be; or, in one sentence, what to do if there is none.
import { obtainRedisServer } from './locate-redis-server.ts';

try {
  const { path, version } = await obtainRedisServer();
  console.log(`Redis ${version}: ${path}`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
