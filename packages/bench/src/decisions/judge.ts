import { type Budget, budget } from '../budget.ts';
import type { Sample } from './compare.ts';
import { budgetedStores, ONE_POLICY, THREE_POLICIES } from './ours.ts';
import { peers } from './peers.ts';
import { sizeName } from './size-name.ts';

/** For each number of keys, the worst of what was measured stands for all algorithms and outcomes. */
export function judgeStores(samples: readonly Sample[]): Budget[] {
  const ours = samples.filter(({ subject }) => budgetedStores.some(({ name }) => name === subject));
  const theirs = samples.filter(({ subject }) => peers.some(({ name }) => name === subject));
  const keyCounts = [...new Set(ours.map(({ keys }) => keys))];
  return [
    ...keyCounts.map((keys) =>
      budget(`MemoryStore.take, ${sizeName(keys)}: to the reference`, 1.6, worst(ours, keys)),
    ),
    // With one key, those win that say less.
    ...keyCounts
      .filter((keys) => keys > 1)
      .map((keys) => {
        const fastestPeer = Math.min(...ratios(theirs, keys));
        const claim = `MemoryStore.take, ${sizeName(keys)}: to the fastest peer`;
        return budget(claim, 1, worst(ours, keys) / fastestPeer);
      }),
  ];
}

export function judgeLimiters(samples: readonly Sample[]): Budget[] {
  const one = samples.filter(({ subject }) => subject === ONE_POLICY);
  const three = samples.filter(({ subject }) => subject === THREE_POLICIES);
  const ofOne = three.map(({ keys, outcome, ratio }) => {
    const same = one.find((sample) => sample.keys === keys && sample.outcome === outcome);
    return ratio / (same as Sample).ratio;
  });
  return [
    budget('RateLimiter.take, one policy: to the reference', 2.2, worst(one)),
    budget('RateLimiter.take, three policies: to one', 3.2, Math.max(...ofOne)),
  ];
}

function worst(samples: readonly Sample[], keys?: number): number {
  return Math.max(...ratios(samples, keys));
}

function ratios(samples: readonly Sample[], keys?: number): number[] {
  return samples
    .filter((sample) => keys === undefined || sample.keys === keys)
    .map(({ ratio }) => ratio);
}
