import { charge, type Rule } from './contract-bench.ts';

// What a state makes of other limits, windows and algorithms, and of a clock that steps back.

export const CHANGE_RULES: readonly Rule[] = [
  [
    'a limit may change from call to call, and what was used stays used',
    async (bench) => {
      for (const [i, of] of [
        'fixed-window',
        'sliding-window-log',
        'sliding-window-counter',
      ].entries()) {
        const key = { key: `window-${i}` };
        await bench.group([charge(`${of} 100/1m`, 3, key)], [{ limit: 100, remaining: 97 }]);
        await bench.group([charge(`${of} 10/1m`, 1, key)], [{ limit: 10, remaining: 6 }]);
        await bench.group(
          [charge(`${of} 2/1m`, 1, key)],
          [{ allowed: false, limit: 2, remaining: 0 }],
        );
      }
      await bench.take('token-bucket 100 1/1s', 20, { remaining: 80 });
      await bench.take('token-bucket 10 5/1s', 1, { remaining: 0, retryAfterMs: 2_200 });
    },
  ],
  [
    'by another algorithm or window, the units in use count as one charge, made now, at most the limit',
    async (bench) => {
      await bench.take('sliding-window-log 8/1m', 2, {});
      bench.at(30_000);
      await bench.take('sliding-window-log 8/1m', 3, {});
      await bench.take('token-bucket 9 1/1s', 1, { allowed: true, remaining: 3 });
      await bench.take('fixed-window 4/10s align=first-request', 1, {
        allowed: false,
        remaining: 0,
        retryAfterMs: 10_000,
      });
      bench.at(35_000);
      await bench.take('fixed-window 4/10s align=first-request', 1, { retryAfterMs: 5_000 });
      bench.at(40_000);
      await bench.take('fixed-window 4/10s align=first-request', 4, { allowed: true });
    },
  ],
  [
    'time never goes back for a subject',
    async (bench) => {
      await bench.take('sliding-window-log 2/1m', 2, {});
      bench.at(-30_000);
      await bench.take('sliding-window-log 2/1m', 1, {
        allowed: false,
        atMs: 0,
        retryAfterMs: 60_000,
      });
    },
  ],
  ...['fixed-window 5/1m', 'sliding-window-log 5/1m', '5/1m', 'token-bucket 5 1/12s'].map(
    (quota): Rule => [
      `a clock that stepped back by a day keeps nobody out for more than two windows: ${quota}`,
      async (bench) => {
        await bench.take(quota, 5, { allowed: true });
        bench.at(-86_400_000);
        await bench.take(quota, 0, { remaining: 0, atMs: -86_400_000 });
        await bench.take(quota, 5, { allowed: false, atMs: -86_400_000 });
        bench.at(-86_400_000 + 30_000);
        await bench.take(quota, 5, { allowed: false });
        bench.at(-86_400_000 + 120_000);
        await bench.take(quota, 5, { allowed: true, remaining: 0 });
      },
    ],
  ),
];
