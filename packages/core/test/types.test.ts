import { expect, test } from '@jest/globals';
import { expectTypeOf } from 'expect-type';
import {
  type Charge,
  type Decision,
  type FloodgateEvent,
  formatQuota,
  MemoryStore,
  parseQuota,
  type Quota,
  RateLimiter,
  type Store,
  slidingWindowLog,
  type TakeOptions,
  tokenBucket,
  type Verdict,
} from '../src/index.ts';
import { FailingStore } from '../src/testing/index.ts';

// What the types say; the compiler checks it, in the typecheck task.

/** A store that only ever answers in promises. */
declare class AsyncStore implements Store {
  take(charges: readonly Charge[], options?: TakeOptions): Promise<Decision[]>;
  refund(): Promise<void>;
  block(): Promise<void>;
  reset(): Promise<void>;
  close(): Promise<void>;
}

const policies = [{ name: 'a', quota: '5/1m' }];

test('a memory store’s limiter answers at once', () => {
  const limiter = new RateLimiter({ policies });
  expectTypeOf(limiter.take('k')).toEqualTypeOf<Verdict>();
  expectTypeOf(limiter.peek('k')).toEqualTypeOf<Verdict>();
  expectTypeOf(limiter.block('k', '1h')).toEqualTypeOf<void>();
  expectTypeOf(limiter.reset('k')).toEqualTypeOf<void>();
  expectTypeOf(limiter.wait).returns.toEqualTypeOf<Promise<Verdict>>();
  const given = new RateLimiter({ policies, store: new MemoryStore() });
  expectTypeOf(given.take('k')).toEqualTypeOf<Verdict>();
  const own = new RateLimiter({
    policies: [{ name: 'a', quota: '5/1m', store: new MemoryStore() }],
  });
  expectTypeOf(own.take('k')).toEqualTypeOf<Verdict>();
  expect(limiter.take('k')).not.toBeInstanceOf(Promise);
});

test('that of a store that answers in promises answers in promises', () => {
  const limiter = (store: AsyncStore) => new RateLimiter({ policies, store });
  expectTypeOf<ReturnType<ReturnType<typeof limiter>['take']>>().toEqualTypeOf<Promise<Verdict>>();
  expectTypeOf<ReturnType<ReturnType<typeof limiter>['block']>>().toEqualTypeOf<Promise<void>>();
});

test('that of a store that may do either, or of several stores, may do either', () => {
  const limiter = (store: Store) => new RateLimiter({ policies, store });
  type Answer = ReturnType<ReturnType<typeof limiter>['take']>;
  expectTypeOf<Answer>().toEqualTypeOf<Verdict | Promise<Verdict>>();

  const failing = new RateLimiter({ policies, store: new FailingStore(new MemoryStore()) });
  expectTypeOf<ReturnType<typeof failing.take>>().toEqualTypeOf<Verdict | Promise<Verdict>>();

  const mixed = (store: AsyncStore) =>
    new RateLimiter({
      store: new MemoryStore(),
      policies: [
        { name: 'a', quota: '5/1m' },
        { name: 'b', quota: '5/1m', store },
      ],
    });
  type Mixed = ReturnType<ReturnType<typeof mixed>['take']>;
  expectTypeOf<Mixed>().toEqualTypeOf<Verdict | Promise<Verdict>>();
});

test('a quota is told apart by its algorithm', () => {
  const quota: Quota = parseQuota('100/1m');
  if (quota.algorithm === 'token-bucket') {
    expectTypeOf(quota.refillRate).toEqualTypeOf<number>();
  } else if (quota.algorithm === 'fixed-window') {
    expectTypeOf(quota.align).toEqualTypeOf<'clock' | 'first-request' | undefined>();
  }
  expectTypeOf(slidingWindowLog).returns.toHaveProperty('windowMs');
  expectTypeOf(tokenBucket).returns.toExtend<Quota>();
  expectTypeOf(formatQuota).returns.toEqualTypeOf<string>();
});

test('an event has the reasons that there are, and may have others', () => {
  const reasons: FloodgateEvent['reason'][] = ['hook-threw', 'memory-store-in-cluster', 'another'];
  expectTypeOf<FloodgateEvent['reason']>().toExtend<string | undefined>();
  expect(reasons).toHaveLength(3);
});

test('what is wrong does not compile', () => {
  const wrong = (): void => {
    // @ts-expect-error: no policies
    new RateLimiter({});
    // @ts-expect-error: a rule that there is not
    new RateLimiter({ policies, onStoreError: 'open' });
    // @ts-expect-error: a misspelt option
    new RateLimiter({ policies, instance: 2 });
    // @ts-expect-error: a bucket has no window
    tokenBucket({ capacity: 1, refillRate: 1, window: '1m' });
    // @ts-expect-error: a decision is not to be changed
    (new MemoryStore().take([])[0] as Decision).remaining = 5;
  };
  expect(wrong).toBeInstanceOf(Function);
});
