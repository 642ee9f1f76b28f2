import type { Decision } from '../decision.ts';
import { MemoryStore } from '../memory-store.ts';
import type { Refund, Store, TakeMode } from '../store.ts';
import { charge, type Rule, same } from './contract-bench.ts';

/** Random timelines, always the same ones. */
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

/** A `MemoryStore`, which is held to the definitions by other means, has to agree at every step. */
function agreementRule(seed: number): Rule {
  return [
    `agrees with a memory store, whatever comes in whatever order (${seed})`,
    async ({ store, clock }) => {
      const reference = new MemoryStore({ clock });
      const random = randomOf(seed);
      const pick = <T>(...from: readonly T[]): T => from[random(from.length)] as T;
      const quotas = Array.from({ length: 3 }, () => pick(...AGREED_QUOTAS));
      const taken: Refund[] = [];
      for (let step = 0; step < 120; step += 1) {
        clock.advance(pick(0, 0, 1, 3, random(20), random(150), -random(40)));
        const subjects = [0, 1, 2]
          .filter(() => random(3) > 0)
          .map((i) => ({ policy: `policy-${i}`, key: pick('a', 'b'), quota: quotas[i] as string }));
        const event = random(20);
        const blockMs = pick(0, 15, 90);
        if (event === 0) await both((one) => one.block(subjects, blockMs));
        else if (event === 1) await both((one) => one.reset(subjects));
        else if (event < 5 && taken.length > 0) {
          const refund = { ...pick(...taken.slice(-4)), cost: random(5) };
          await both((one) => one.refund([refund]));
        } else {
          const charges = subjects.map(({ quota, ...subject }) =>
            charge(quota, pick(1, 1, 1, random(7)), { ...subject, advisory: random(5) === 0 }),
          );
          const mode = pick<TakeMode>('take', 'take', 'take', 'take', 'take', 'peek', 'force');
          const [got, expected] = await both((one) => one.take(charges, { mode }));
          const what = `step ${step}, ${mode} of ${JSON.stringify(charges)}, at ${clock.now()},`;
          same(inOrder(got), inOrder(expected), what);
          taken.push(...charges.map((one, i) => ({ ...one, atMs: (got[i] as Decision).atMs })));
        }
      }

      async function both<T>(act: (store: Store) => T): Promise<[Awaited<T>, Awaited<T>]> {
        return [await act(store), await act(reference)];
      }
    },
  ];
}

const AGREED_QUOTAS = [
  'fixed-window 4/50ms',
  'fixed-window 4/70ms align=first-request',
  'fixed-window 2/20ms block=60ms',
  'sliding-window-log 5/40ms',
  'sliding-window-log 2/100ms block=30ms',
  'sliding-window-counter 6/50ms',
  'sliding-window-counter 3/30ms block=20ms',
  'token-bucket 5 3/7ms',
  'token-bucket 3 1/20ms block=50ms',
  'leaky-bucket 6 7/100ms',
  'leaky-bucket 4 2/9ms shape=false',
];

/** Decisions as text, their fields in one order. */
function inOrder(decisions: readonly Decision[]): string {
  return decisions
    .map((decision) =>
      Object.keys(decision)
        .sort()
        .map((field) => `${field} ${decision[field as keyof Decision]}`)
        .join(', '),
    )
    .join(' | ');
}

/** A whole number below `end`; not for secrets. */
function randomOf(seed: number): (end: number) => number {
  let state = seed * 0x9e3779b9;
  return (end) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5;
    const bits = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((bits ^ (bits >>> 15)) >>> 0) % end;
  };
}

export const AGREEMENT_RULES: readonly Rule[] = SEEDS.map(agreementRule);
