import {
  fixedWindow,
  leakyBucket,
  MemoryStore,
  type Policy,
  type Quota,
  RateLimiter,
  slidingWindowCounter,
  tokenBucket,
} from '@floodgate/core';
import { LONG_MS, limitFor, type Outcome, type Subject, sink } from './subject.ts';

/** The quotas that need no more than a few numbers a key; the log needs as many as its limit. */
const quotas = {
  'fixed window': (outcome) => fixedWindow({ limit: limitFor(outcome), window: LONG_MS }),
  'sliding counter': (outcome) =>
    slidingWindowCounter({ limit: limitFor(outcome), window: LONG_MS }),
  'token bucket': (outcome) =>
    tokenBucket({ capacity: limitFor(outcome), refillRate: 1, per: periodFor(outcome) }),
  'leaky bucket': (outcome) =>
    leakyBucket({ capacity: limitFor(outcome), leakRate: 1, per: periodFor(outcome) }),
} satisfies Record<string, (outcome: Outcome) => Quota>;

/** No unit comes back during a run: what is full again is forgotten. Units times interval must stay below 2^53. */
function periodFor(outcome: Outcome): number {
  return outcome === 'admitted' ? 60 * 60 * 1000 : LONG_MS;
}

/** One algorithm each. */
export const budgetedStores: readonly Subject[] = Object.entries(quotas).map(
  ([name, quotaFor]): Subject => ({
    name: `MemoryStore.take, ${name}`,
    kind: 'ours',
    prepare: ({ outcome, keyCount, clock }) => {
      const quota = quotaFor(outcome);
      const store = new MemoryStore({ maxKeys: keyCount, ...(clock && { clock }) });
      return {
        decide: (keys) => {
          for (let i = 0; i < keys.length; i += 1) {
            const key = keys[i] as string;
            sink.last = store.take([{ policy: 'default', key, quota, cost: 1 }]);
          }
        },
        close: () => store.close(),
      };
    },
  }),
);

/** A server with several limiters: code that is compiled for one quota meets another with the next request. */
const mixed: Subject = {
  name: 'MemoryStore.take, the four in turn',
  kind: 'ours',
  prepare: ({ outcome, keyCount }) => {
    const store = new MemoryStore({ maxKeys: 4 * keyCount });
    const policies = Object.entries(quotas).map(([policy, quotaFor]) => ({
      policy,
      quota: quotaFor(outcome),
    }));
    return {
      decide: (keys) => {
        for (let i = 0; i < keys.length; i += 1) {
          const key = keys[i] as string;
          // By the key, so that there are no more subjects than keys.
          const { policy, quota } = policies[keyCount === 1 ? i & 3 : key.charCodeAt(4) & 3] as {
            policy: string;
            quota: Quota;
          };
          sink.last = store.take([{ policy, key, quota, cost: 1 }]);
        }
      },
      close: () => store.close(),
    };
  },
};

function limiter(name: string, policiesFor: (outcome: Outcome) => readonly Policy[]): Subject {
  return {
    name,
    kind: 'ours',
    prepare: ({ outcome, keyCount }) => {
      const policies = policiesFor(outcome);
      const store = new MemoryStore({ maxKeys: keyCount * policies.length });
      const limiter = new RateLimiter({ policies, store });
      return {
        decide: (keys) => {
          for (let i = 0; i < keys.length; i += 1) sink.last = limiter.take(keys[i] as string);
        },
        close: () => store.close(),
      };
    },
  };
}

export const ONE_POLICY = 'RateLimiter.take, one policy';
export const THREE_POLICIES = 'RateLimiter.take, three policies';

export const ourStores: readonly Subject[] = [...budgetedStores, mixed];

export const ourLimiters: readonly Subject[] = [
  limiter(ONE_POLICY, (outcome) => [{ name: 'default', quota: quotas['token bucket'](outcome) }]),
  limiter(THREE_POLICIES, (outcome) => [
    // Only the last one denies: all three have to be asked, and two to be answered again.
    { name: 'second', quota: quotas['token bucket']('admitted') },
    { name: 'minute', quota: quotas['token bucket']('admitted') },
    { name: 'day', quota: quotas['token bucket'](outcome) },
  ]),
];
