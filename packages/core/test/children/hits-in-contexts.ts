// 100,000 hits, each in an AsyncLocalStorage context of its own. Prints how many contexts are left after a collection,
// and what keeps the process alive. Needs --expose-gc.
import { AsyncLocalStorage } from 'node:async_hooks';
import { MemoryStore, RateLimiter } from '../../src/index.ts';

const HITS = 100_000;
const contexts = new AsyncLocalStorage<object>();
const limiter = new RateLimiter({
  store: new MemoryStore({ maxKeys: 1_000_000 }),
  policies: [
    { name: 'log', quota: 'sliding-window-log 3/1m' },
    { name: 'bucket', quota: 'token-bucket 3 1/1s block=1h' },
  ],
});

const held: WeakRef<object>[] = [];
for (let hit = 0; hit < HITS; hit += 1) {
  const context = { body: new Array(100).fill(hit) };
  held.push(new WeakRef(context));
  contexts.run(context, () => limiter.take(`user:${hit % 5000}`));
}

const alive = process.getActiveResourcesInfo();
setTimeout(() => {
  globalThis.gc?.();
  const left = held.filter((context) => context.deref() !== undefined).length;
  console.log(JSON.stringify({ left, alive }));
}, 1);
