import { FloodgateError, type StoreErrorRule } from '@floodgate/core';
import { invalid } from '@floodgate/core/internal';
import type { HttpPolicy } from './policies.ts';

/** A policy's name on a store, and how many limiters count by it. */
interface Claim {
  readonly isNameDefaulted: boolean;
  readonly quotaFrom: readonly unknown[];
  readonly settles: boolean;
  readonly onStoreError: StoreErrorRule;
  /** That of the limiter that claimed it first, and of all that extend it. */
  readonly ownStore: object;
  claims: number;
}

/** What counts on each store, by name. */
const claimed = new WeakMap<object, Map<string, Claim>>();

/**
 * Claims the names of policies on their stores, since those of one name share their counts there: one that nobody chose
 * is for one limiter, and any has one quota. `ownStore` stands for the store of policies that name none. What it returns
 * gives the names back.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` where a name is another's
 */
export function claimNames<Request>(
  policies: readonly HttpPolicy<Request>[],
  ownStore: object,
): () => void {
  const undo: (() => void)[] = [];
  const release = (): void => {
    for (const one of undo.splice(0)) one();
  };
  try {
    for (const policy of policies) undo.push(claim(policy, ownStore));
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

function claim<Request>(policy: HttpPolicy<Request>, ownStore: object): () => void {
  const { store = ownStore } = policy;
  const { name, isNameDefaulted, quotaFrom, onStoreError } = policy;
  const settles = policy.settle !== undefined;
  const names = claimed.get(store) ?? new Map<string, Claim>();
  claimed.set(store, names);
  const known = names.get(name) ?? {
    isNameDefaulted,
    quotaFrom,
    settles,
    onStoreError,
    ownStore,
    claims: 0,
  };
  if (known.claims > 0 && (isNameDefaulted || known.isNameDefaulted)) {
    throw new FloodgateError(
      CODE,
      `Expected a \`name\`: two limiters on one store are called \`${name}\`, and would share their counts. Give ` +
        'each a name, or use the same limiter in both places.',
    );
  }
  if (!isEqual(known.quotaFrom, quotaFrom)) {
    const expectation = 'different from those of other quotas on the same store';
    throw invalid(CODE, 'name', expectation, name);
  }
  if (known.settles !== settles) {
    const expectation =
      'different from those whose costs are settled, as these are not, or the other way round';
    throw invalid(CODE, 'name', expectation, name);
  }
  // A limiter, and what extends it, have one rule for a name.
  if (known.ownStore === ownStore && known.onStoreError !== onStoreError) {
    const expectation = 'different from those of policies with another `onStoreError`';
    throw invalid(CODE, 'name', expectation, name);
  }
  known.claims += 1;
  names.set(name, known);
  return () => {
    known.claims -= 1;
    if (known.claims === 0) names.delete(name);
  };
}

const CODE = 'FLOODGATE_INVALID_OPTION';

function isEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
