// A limiter that is used once, and not closed.
import { RateLimiter } from '../../src/index.ts';

const limiter = new RateLimiter({
  policies: [{ name: 'p', quota: 'fixed-window 3/30d block=30d' }],
});
const verdicts = [1, 2, 3, 4].map(() => limiter.take('k'));
console.log(JSON.stringify(verdicts.map(({ allowed }) => allowed)));
setTimeout(() => console.log(limiter.take('k').allowed), 50);
