// Two workers of a cluster, each with limiters of its own. The primary prints who was warned of what, as JSON.
import cluster from 'node:cluster';
import { MemoryStore, RateLimiter } from '../../src/index.ts';
import { FailingStore } from '../../src/testing/index.ts';

const policies = [{ name: 'p', quota: '4/1m' }];
const told = { process: [] as string[], hooks: [] as unknown[] };
process.on('warning', ({ message }) => told.process.push(message));
for (let i = 0; i < 2; i += 1) {
  new RateLimiter({ policies });
  new RateLimiter({ policies, onEvent: ({ reason }) => told.hooks.push(reason) });
}
new RateLimiter({ policies, store: new FailingStore(new MemoryStore()) });

if (cluster.isPrimary) {
  const all: Record<string, typeof told> = { primary: told };
  for (let i = 0; i < 2; i += 1) {
    const worker = cluster.fork();
    worker.on('message', (message: typeof told) => {
      all[`worker ${worker.id}`] = message;
      worker.disconnect();
    });
  }
  let left = 2;
  cluster.on('exit', () => {
    left -= 1;
    if (left === 0) console.log(JSON.stringify(all));
  });
} else {
  setTimeout(() => process.send?.(told), 20);
}
