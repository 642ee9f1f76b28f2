// Two workers of a cluster, each with limiters of its own. The primary prints what each was warned of, as JSON.
import cluster from 'node:cluster';
import { MemoryStore, RateLimiter } from '../../src/index.ts';
import { FailingStore } from '../../src/testing/index.ts';

const policies = [{ name: 'p', quota: '4/1m' }];

if (cluster.isPrimary) {
  const warned: Record<string, string[]> = { primary: [] };
  process.on('warning', ({ message }) => warned.primary?.push(message));
  new RateLimiter({ policies });
  for (let i = 0; i < 2; i += 1) {
    const worker = cluster.fork();
    worker.on('message', (messages: string[]) => {
      warned[`worker ${worker.id}`] = messages;
      worker.disconnect();
    });
  }
  let left = 2;
  cluster.on('exit', () => {
    left -= 1;
    if (left === 0) console.log(JSON.stringify(warned));
  });
} else {
  const messages: string[] = [];
  process.on('warning', ({ message }) => messages.push(message));
  new RateLimiter({ policies });
  new RateLimiter({ policies, store: new FailingStore(new MemoryStore()) });
  setTimeout(() => process.send?.(messages), 20);
}
