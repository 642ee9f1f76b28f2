import { windowStart } from './algorithms/exact.ts';
import type { Decision } from './decision.ts';
import { type Steps, wait } from './maybe-promise.ts';
import { fillTimeOf, type Quota } from './quota.ts';
import type { Store, TakeOptions } from './store.ts';
import type { TakenCharge } from './verdict.ts';

/** What one charge took, and where: for settling it there, or giving it back. */
export interface Taken {
  readonly store: Store;
  readonly charge: TakenCharge;
  /** When it was taken. */
  readonly atMs: number;
  /** Told of a store that fails: what was taken stands then. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Replaces the cost that was taken by the true one: gives back the difference, or charges it. Where the policy blocks,
 * what is settled is counted apart from what is reserved, and once that alone fills the quota, its subject is blocked.
 */
export function* settleCharge(
  { store, charge, atMs, onFailed }: Taken,
  trueCost: number,
): Steps<void> {
  const difference = trueCost - charge.cost;
  try {
    if (difference < 0) yield* wait(store.refund([{ ...charge, atMs, cost: -difference }]));
    if (difference > 0) yield* wait(store.take([{ ...charge, cost: difference }], FORCE));
    if (charge.blockMsOnceSettled !== undefined && trueCost > 0) {
      yield* countSettled(store, charge, atMs, trueCost, charge.blockMsOnceSettled);
    }
  } catch (error) {
    onFailed(error);
  }
}

/** Gives all of it back, each store's in one step. */
export function* refundTaken(taken: readonly Taken[]): Steps<void> {
  for (const [store, ofStore] of byStore(taken)) {
    try {
      yield* wait(store.refund(ofStore.map(({ charge, atMs }) => ({ ...charge, atMs }))));
    } catch (error) {
      ofStore[0]?.onFailed(error);
    }
  }
}

/** What is left, of what was given back; nothing of a store that cannot tell. */
export function* askUncharged(taken: readonly Taken[]): Steps<Map<Taken, Decision>> {
  const decisions = new Map<Taken, Decision>();
  for (const [store, ofStore] of byStore(taken)) {
    try {
      const asked = ofStore.map(({ charge }) => ({ ...charge, cost: 0 }));
      const answers = yield* wait(store.take(asked, PEEK));
      for (const [i, one] of ofStore.entries()) decisions.set(one, answers[i] as Decision);
    } catch {
      // It was told of when it could not give back.
    }
  }
  return decisions;
}

/** What took something, by store. */
function byStore(taken: readonly Taken[]): Map<Store, Taken[]> {
  const stores = new Map<Store, Taken[]>();
  for (const one of taken) {
    if (one.charge.cost > 0) stores.set(one.store, [...(stores.get(one.store) ?? []), one]);
  }
  return stores;
}

/** The name under which what a policy has settled is counted. */
export function settledPolicy(policy: string): string {
  return `${policy} (settled)`;
}

function* countSettled(
  store: Store,
  charge: TakenCharge,
  atMs: number,
  trueCost: number,
  blockMs: number,
): Steps<void> {
  const [now] = yield* wait(store.take([{ ...charge, cost: 0 }], PEEK));
  const { blocked, remaining, atMs: nowMs } = now as Decision;
  // What was taken long ago counts no more, though it is settled only now.
  if (!stillCounts(charge.quota, atMs, nowMs)) return;
  const counted = { ...charge, policy: settledPolicy(charge.policy), cost: trueCost };
  const [count] = yield* wait(store.take([counted], FORCE));
  // Further ones do not prolong a block.
  if (blocked || remaining > 0 || (count as Decision).remaining > 0) return;
  yield* wait(store.block([{ policy: charge.policy, key: charge.key }], blockMs));
}

/** Whether units that were taken at a time can be in use still. */
function stillCounts(quota: Quota, atMs: number, nowMs: number): boolean {
  if (quota.algorithm === 'fixed-window' && quota.align !== 'first-request') {
    return windowStart(atMs, quota.windowMs) === windowStart(nowMs, quota.windowMs);
  }
  return nowMs - atMs < fillTimeOf(quota);
}

const FORCE: TakeOptions = { mode: 'force' };
const PEEK: TakeOptions = { mode: 'peek' };
