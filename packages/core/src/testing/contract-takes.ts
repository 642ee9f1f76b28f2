import type { Decision } from '../decision.ts';
import type { Charge } from '../store.ts';
import { charge, NEVER, type Rule, same } from './contract-bench.ts';

// What is taken, and by whom: groups, peeks, forced and advisory charges.

export const TAKE_RULES: readonly Rule[] = [
  [
    'a peek answers what a take would, and changes nothing',
    async (bench) => {
      const peek = (cost: number, expected: Partial<Decision>) =>
        bench.group([charge('5/1m', cost)], [expected], 'peek');
      await peek(3, { allowed: true, remaining: 2 });
      await bench.take('5/1m', 3, { allowed: true, remaining: 2 });
      await peek(3, { allowed: false, remaining: 2, retryAfterMs: 60_001 });
      await bench.take('5/1m', 2, { allowed: true, remaining: 0 });
      await peek(0, { allowed: true, remaining: 0 });
    },
  ],
  [
    'of 200 takes at once, as many are admitted as there is room for',
    async (bench) => {
      const takes = Array.from({ length: 200 }, () => bench.store.take([charge('10/1m', 1)]));
      const decisions = (await Promise.all(takes)).flat();
      same(decisions.filter(({ allowed }) => allowed).length, 10, 'the number admitted');
    },
  ],
  [
    'a group is met all or nothing; one that is denied is charged to none',
    async (bench) => {
      const wide = { policy: 'wide' };
      const group = [charge('2/1m', 1), charge('leaky-bucket 9 1/1s', 1, wide)];
      await bench.group(group, [{ remaining: 1 }, { remaining: 8, delayMs: 0 }]);
      await bench.group(group, [{ remaining: 0 }, { remaining: 7, delayMs: 1000 }]);
      await bench.group(group, [
        { allowed: false, remaining: 0, retryAfterMs: 60_001 },
        { allowed: true, remaining: 7, retryAfterMs: 0, resetAtMs: 2000, delayMs: 0 },
      ]);
      await bench.group([...group].reverse(), [
        { allowed: true, remaining: 7 },
        { allowed: false },
      ]);
    },
  ],
  [
    'an advisory charge denies nobody, and is charged if it has room and its group is admitted',
    async (bench) => {
      const watched = { policy: 'watched', advisory: true };
      const group = (cost: number) => [charge('4/1m', cost), charge('1/1m', 1, watched)];
      await bench.group(group(9), [{ allowed: false }, { allowed: true, remaining: 1 }]);
      await bench.group(group(1), [{ allowed: true }, { allowed: true, remaining: 0 }]);
      await bench.group(group(1), [
        { allowed: true, remaining: 2 },
        { allowed: false, remaining: 0 },
      ]);
      await bench.group(group(1), [{ allowed: true, remaining: 1 }, { allowed: false }]);
    },
  ],
  [
    'a group of many is met like one of few',
    async (bench) => {
      const many = Array.from({ length: 40 }, (_, i) => charge('1/1m', 1, { key: `key-${i}` }));
      await bench.group(
        many,
        many.map(() => ({ allowed: true, remaining: 0 })),
      );
      const last = many.at(-1) as Charge;
      await bench.group(
        [charge('9/1m', 1, { policy: 'x' }), last],
        [{ remaining: 9 }, { allowed: false }],
      );
    },
  ],
  ['a group of none answers nothing', async (bench) => bench.group([], [])],
  [
    'a take that no store can make is refused, and charges nothing',
    async (bench) => {
      const good = charge('5/1m', 1);
      await bench.refused([good, good], 'FLOODGATE_DUPLICATE_SUBJECT');
      for (const cost of [-1, 1.5, Number.NaN, NEVER, 2 ** 53]) {
        const other = { policy: 'other' };
        await bench.refused([good, charge('5/1m', cost, other)], 'FLOODGATE_INVALID_CHARGE');
      }
      await bench.refused([good, charge('5/1m', 1, { key: '' })], 'FLOODGATE_INVALID_CHARGE');
      await bench.take('5/1m', 0, { remaining: 5 });
    },
  ],
  [
    'each policy and each key has a state of its own, whatever characters they hold',
    async (bench) => {
      const names = [
        'a',
        'ab',
        'a:b',
        ':',
        '::',
        '{a}',
        '}{',
        ' ',
        '\n',
        '\0',
        'é',
        'e\u0301',
        '😀',
        '%3A',
        '\ud800',
        '\ud801',
      ];
      const odd = [
        '__proto__',
        'constructor',
        'NaN',
        '0',
        'x'.repeat(10_000),
        `${'x'.repeat(9_999)}y`,
      ];
      const charges = [...names, ...odd].flatMap((policy) =>
        [...names, ...odd].map((key) => charge('1/1m', 1, { policy, key })),
      );
      for (const one of charges) await bench.group([one], [{ allowed: true, remaining: 0 }]);
      for (const one of charges) await bench.group([one], [{ allowed: false }]);
    },
  ],
  [
    'a forced charge is never denied, and its debt counts',
    async (bench) => {
      await bench.force('token-bucket 5 1/1s', 100, {
        allowed: true,
        remaining: 0,
        retryAfterMs: 0,
      });
      await bench.take('token-bucket 5 1/1s', 1, { retryAfterMs: 96_000, resetAtMs: 100_000 });
      bench.at(95_999);
      await bench.take('token-bucket 5 1/1s', 1, { allowed: false, retryAfterMs: 1 });
      bench.at(96_000);
      await bench.take('token-bucket 5 1/1s', 1, { allowed: true, remaining: 0 });
    },
  ],
];
