// Sleeps that are longer than a timer can be (2^31 - 1 ms), given up after a moment. Prints how many woke before.
import { MemoryStore, RateLimiter } from '../../src/index.ts';

const limiter = new RateLimiter({ policies: [{ name: 'slow', quota: 'token-bucket 1 1/60d' }] });
const { clock } = new MemoryStore();
limiter.take('k');

const controller = new AbortController();
const { signal } = controller;
let woken = 0;
const sleepers = [
  limiter.wait('k', { signal }),
  clock.sleep?.(30 * 86_400_000, signal),
  clock.sleep?.(2 ** 31, signal),
].map((sleeper) => sleeper?.then(() => (woken += 1)));

setTimeout(async () => {
  const before = woken;
  controller.abort('enough');
  const given = (await Promise.allSettled(sleepers)).map((one) =>
    one.status === 'rejected' ? one.reason : 'woken',
  );
  console.log(JSON.stringify({ woken: before, given }));
}, 50);
