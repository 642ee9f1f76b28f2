import { type Backend, isSubstitute, type Taken } from './backend.ts';
import type { Decision } from './decision.ts';
import { type Degraded, type StoreErrorRule, strictest } from './degraded.ts';
import type { LateCharge } from './late-take.ts';
import { type Steps, wait } from './maybe-promise.ts';
import { limitOf } from './quota.ts';
import type { Reservations } from './reservations.ts';
import { refundTaken } from './settlement.ts';
import type { Charge, Store } from './store.ts';
import { isAdmitted } from './verdict.ts';

/**
 * Meets charges that live on several stores, one store after the other: those in this process first, and the one with
 * the widest key last, since units held there for a moment are missed by the most clients. If one denies, what the
 * earlier ones took is given back, and the later ones still say what they would have answered. So never more is
 * admitted; for the moment between, less may be.
 */
export function* takeAcross(
  charges: readonly Charge[],
  backends: readonly Backend[],
  mode: 'take' | 'peek',
  reservations: Reservations,
  onRefundFailed: (error: unknown) => void,
): Steps<Taken> {
  const parts = partsOf(charges, backends);
  const held: Part[] = [];
  let denied = false;
  try {
    for (const part of parts) {
      const spared = reservations.sparing(part.asked);
      const takes = !denied && mode === 'take';
      // Before its store has answered: others may be asking it for the same subjects.
      if (takes) {
        reservations.hold(part.asked);
        held.push(part);
      }
      yield* ask(part, spared, denied ? 'peek' : mode);
      if (!isAdmitted(part.charges, part.decisions)) {
        denied = true;
        if (takes) reservations.release((held.pop() as Part).asked);
        for (const other of held) yield* giveBack(other, onRefundFailed);
        release();
      }
    }
  } catch (error) {
    for (const part of held) yield* giveBack(part, onRefundFailed);
    throw error;
  } finally {
    release();
  }
  if (denied) {
    for (const part of parts) yield* askUncharged(part);
  }
  return assemble(charges, parts);

  function release(): void {
    for (const part of held.splice(0)) reservations.release(part.asked);
  }
}

/** The charges of one store, and what it answers. */
interface Part {
  readonly backend: Backend;
  /** Where its charges stand among all. */
  readonly indexes: number[];
  readonly asked: Charge[];
  /** As they were taken: without a block, or with a divided quota. */
  charges: readonly Charge[];
  decisions: readonly Decision[];
  stores: readonly (Store | undefined)[];
  degraded: Degraded | undefined;
  late: readonly (LateCharge | undefined)[];
}

function partsOf(charges: readonly Charge[], backends: readonly Backend[]): Part[] {
  const parts = new Map<Backend, Part>();
  for (const [index, backend] of backends.entries()) {
    let part = parts.get(backend);
    if (part === undefined) {
      part = {
        backend,
        indexes: [],
        asked: [],
        charges: [],
        decisions: [],
        stores: [],
        degraded: undefined,
        late: [],
      };
      parts.set(backend, part);
    }
    part.indexes.push(index);
    part.asked.push(charges[index] as Charge);
  }
  return [...parts.values()].sort(
    (a, b) =>
      Number(b.backend.isLocal) - Number(a.backend.isLocal) || widthOf(a.asked) - widthOf(b.asked),
  );
}

/** Who shares a key is not known; the one that is allowed the most is taken to be shared by the most. */
export function widthOf(charges: readonly Charge[]): number {
  return Math.max(
    ...charges.map(({ key, quota }) =>
      key === 'global' ? Number.POSITIVE_INFINITY : limitOf(quota),
    ),
  );
}

function* ask(part: Part, charges: readonly Charge[], mode: 'take' | 'peek'): Steps<void> {
  const answer = yield* wait(part.backend.take(charges, mode));
  if (isSubstitute(answer)) {
    part.charges = answer.charges;
    part.decisions = answer.decisions;
    part.stores = answer.stores;
    part.degraded = answer.degraded;
    part.late = answer.late;
  } else {
    part.charges = charges;
    part.decisions = answer;
    part.stores = charges.map(() => part.backend.store);
  }
}

function* giveBack(part: Part, onFailed: (error: unknown) => void): Steps<void> {
  for (const late of part.late) late?.take.settle(late.index, 0);
  const taken = part.stores.flatMap((store, index) => {
    const charge = part.charges[index] as Charge;
    const { allowed, atMs } = part.decisions[index] as Decision;
    return store !== undefined && allowed ? { store, charge, atMs, onFailed } : [];
  });
  yield* refundTaken(taken);
}

/** In a denied group, those that had room say what they have left, uncharged. A store that denied has done so. */
function* askUncharged(part: Part): Steps<void> {
  // A store that failed is not waited for once more.
  if (!isAdmitted(part.charges, part.decisions) || part.degraded !== undefined) return;
  const charges = part.charges.filter(
    ({ cost }, index) => cost > 0 && part.decisions[index]?.allowed === true,
  );
  if (charges.length === 0) return;
  const before = part.charges;
  const decisions = [...part.decisions];
  const asked = charges.map((charge) => ({ ...charge, cost: 0 }));
  const answer = yield* wait(part.backend.take(asked, 'peek'));
  const answers = isSubstitute(answer) ? answer.decisions : answer;
  for (const [index, charge] of charges.entries()) {
    decisions[before.indexOf(charge)] = answers[index] as Decision;
  }
  part.decisions = decisions;
}

function assemble(charges: readonly Charge[], parts: readonly Part[]): Taken {
  const met = [...charges];
  const decisions: Decision[] = [];
  const stores: (Store | undefined)[] = [];
  const late: (LateCharge | undefined)[] = [];
  for (const part of parts) {
    for (const [position, index] of part.indexes.entries()) {
      met[index] = part.charges[position] as Charge;
      decisions[index] = part.decisions[position] as Decision;
      stores[index] = part.stores[position];
      late[index] = part.late[position];
    }
  }
  return { charges: met, decisions, stores, degraded: degradedOf(parts), late };
}

function degradedOf(parts: readonly Part[]): Degraded | undefined {
  const error = parts.find((part) => part.degraded !== undefined)?.degraded?.error;
  if (error === undefined) return undefined;
  const rules: (StoreErrorRule | undefined)[] = [];
  for (const { indexes, degraded } of parts) {
    for (const [position, index] of indexes.entries()) rules[index] = degraded?.rules[position];
  }
  return { rule: strictest(rules), error, rules };
}
