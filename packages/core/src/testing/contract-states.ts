import { charge, NEVER, type Rule, SUBJECT } from './contract-bench.ts';

// What changes a state apart from takes: refunds, blocks, resets.

export const STATE_RULES: readonly Rule[] = [
  ...['fixed-window 5/10s', 'fixed-window 5/10s align=first-request'].map(
    (quota): Rule => [
      `gives units back to the window that they were taken from, while it runs: ${quota}`,
      async (bench) => {
        await bench.take(quota, 5, { allowed: true });
        bench.at(9_999);
        await bench.refund(quota, 2, 0);
        await bench.take(quota, 0, { remaining: 2 });
        bench.at(10_000);
        await bench.refund(quota, 5, 0);
        await bench.take(quota, 5, { allowed: true, remaining: 0 });
        await bench.refund(quota, 5, 9_999);
        await bench.take(quota, 1, { allowed: false });
        await bench.refund(quota, 99, 10_000);
        await bench.take(quota, 5, { allowed: true, remaining: 0 });
      },
    ],
  ),
  [
    'gives units back to the moment of a log that they were taken at, and to no other',
    async (bench) => {
      const log = 'sliding-window-log 6/10s';
      await bench.take(log, 2, {});
      bench.at(5_000);
      await bench.take(log, 1, {});
      await bench.take(log, 2, { remaining: 1 });
      await bench.refund(log, 9, 5_000);
      await bench.take(log, 0, { remaining: 4, resetAtMs: 10_000 });
      await bench.refund(log, 9, 4_999);
      await bench.take(log, 0, { remaining: 4 });
    },
  ],
  [
    'gives units back to either window of a counter',
    async (bench) => {
      await bench.take('10/10s', 8, {});
      bench.at(15_000);
      await bench.take('10/10s', 3, { remaining: 3 });
      await bench.refund('10/10s', 4, 0);
      await bench.take('10/10s', 0, { remaining: 5 });
      await bench.refund('10/10s', 2, 15_000);
      await bench.take('10/10s', 0, { remaining: 7 });
      await bench.refund('10/10s', 99, -10_000);
      await bench.refund('10/10s', 99, 0);
      await bench.take('10/10s', 0, { remaining: 9 });
    },
  ],
  ...['token-bucket 5 1/1s', 'leaky-bucket 5 1/1s'].map(
    (quota): Rule => [
      `gives units back to a bucket, down to empty: ${quota}`,
      async (bench) => {
        await bench.refund(quota, 5, 0);
        await bench.take(quota, 5, { allowed: true, remaining: 0 });
        bench.at(1_500);
        await bench.refund(quota, 2, 0);
        await bench.take(quota, 0, { remaining: 3, resetAtMs: 3_000 });
        await bench.refund(quota, 99, 0);
        await bench.take(quota, 5, { allowed: true, remaining: 0, delayMs: 0 });
      },
    ],
  ),
  [
    'a denied charge of a quota with a block blocks its subject, and further attempts do not prolong it',
    async (bench) => {
      const quota = 'fixed-window 2/1m align=first-request block=90s';
      await bench.take(quota, 3, { allowed: false, blocked: false, retryAfterMs: NEVER });
      await bench.take(quota, 2, { allowed: true, blocked: false });
      await bench.take(quota, 0, { allowed: true, blocked: false });
      await bench.group([charge(quota, 1)], [{ blocked: true, retryAfterMs: 90_000 }], 'peek');
      await bench.take(quota, 0, { allowed: true, blocked: false });
      const blocked = { allowed: false, blocked: true, remaining: 0, resetAtMs: 90_000 };
      await bench.take(quota, 1, { ...blocked, retryAfterMs: 90_000 });
      bench.at(60_000);
      await bench.take(quota, 1, { ...blocked, retryAfterMs: 30_000 });
      await bench.take(quota, 0, { ...blocked, retryAfterMs: 30_000 });
      bench.at(90_000);
      await bench.take(quota, 1, { allowed: true, blocked: false, remaining: 1 });
    },
  ],
  [
    'a group that another policy denies starts no block',
    async (bench) => {
      const full = charge('1/1m', 2, { policy: 'full' });
      await bench.group([charge('2/1m block=1h', 2), full], [{ allowed: true, remaining: 2 }]);
      await bench.take('2/1m block=1h', 2, { allowed: true, blocked: false });
    },
  ],
  [
    'a block by hand holds until its end, whatever is given back, and keeps the counts',
    async (bench) => {
      await bench.take('5/1m', 3, { remaining: 2 });
      await bench.store.block([SUBJECT, { ...SUBJECT, key: 'unseen' }], 1_500);
      await bench.group(
        [charge('5/1m', 1, { key: 'unseen' })],
        [{ allowed: false, blocked: true }],
      );
      await bench.refund('5/1m', 1, 0);
      bench.at(1_499);
      await bench.take('5/1m', 0, { allowed: false, blocked: true, retryAfterMs: 1 });
      await bench.take('5/1m', 6, { blocked: true, retryAfterMs: NEVER });
      await bench.force('5/1m', 2, { allowed: true, blocked: true, remaining: 0 });
      bench.at(1_500);
      await bench.take('5/1m', 0, { allowed: true, blocked: false, remaining: 1 });
    },
  ],
  [
    'a block may be made shorter, and is lifted by 0',
    async (bench) => {
      await bench.take('5/1m', 3, {});
      await bench.store.block([SUBJECT], 3_600_000);
      await bench.store.block([SUBJECT], 50);
      await bench.take('5/1m', 1, { retryAfterMs: 50 });
      await bench.store.block([SUBJECT], 0);
      await bench.take('5/1m', 0, { allowed: true, blocked: false, remaining: 2 });
      await bench.store.block([{ ...SUBJECT, key: 'unseen' }], 0);
    },
  ],
  [
    'a reset forgets counts and blocks, of the subjects that are named',
    async (bench) => {
      const other = charge('5/1m', 2, { key: 'other' });
      await bench.take('5/1m', 5, {});
      await bench.group([other], [{ remaining: 3 }]);
      await bench.store.block([SUBJECT, other], 1_000);
      await bench.store.reset([SUBJECT, { ...SUBJECT, key: 'unseen' }]);
      await bench.take('5/1m', 1, { allowed: true, remaining: 4, blocked: false });
      await bench.group([other], [{ blocked: true }]);
    },
  ],
];
