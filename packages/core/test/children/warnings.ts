// What a limiter tells the process's warnings; and that it needs no process to tell.
import { MemoryStore, RateLimiter, type Verdict } from '../../src/index.ts';
import { FailingStore } from '../../src/testing/index.ts';

const policies = [{ name: 'p', quota: '9/1m' }];

function failing(onEvent?: () => unknown): boolean[] {
  const store = new FailingStore(new MemoryStore(), { remote: false });
  const limiter = new RateLimiter({ policies, store, ...(onEvent && { onEvent }) });
  store.fail(new Error('gone'));
  const verdicts = [limiter.take('k') as Verdict, limiter.take('k') as Verdict];
  if (onEvent === undefined) {
    store.recover();
    verdicts.push(limiter.take('k') as Verdict);
  }
  return verdicts.map(({ allowed }) => allowed);
}

const careless = new RateLimiter({
  policies,
  onVerdict: () => {
    throw new Error('no count');
  },
});
const allowed = [
  failing().every(Boolean),
  failing().every(Boolean),
  ['k', 'k'].every((key) => careless.take(key).allowed),
  failing(() => {
    throw new Error('no log');
  }).every(Boolean),
  failing(() => Promise.reject(new Error('no log either'))).every(Boolean),
];

setTimeout(() => {
  const { process } = globalThis;
  (globalThis as { process?: unknown }).process = undefined;
  allowed.push(failing().every(Boolean));
  globalThis.process = process;
  console.log(JSON.stringify({ allowed }));
}, 20);
