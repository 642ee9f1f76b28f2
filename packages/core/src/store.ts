import type { Clock } from './clock.ts';
import type { Decision } from './decision.ts';
import { FloodgateError, invalid } from './errors.ts';
import type { Quota } from './quota.ts';

/** One policy and one key: what has a state of its own in a store. */
export interface Subject {
  readonly policy: string;
  readonly key: string;
}

/** One policy's claim on one request. */
export interface Charge extends Subject {
  readonly quota: Quota;
  /** Units: a whole number. 0 asks without using anything. */
  readonly cost: number;
  /** Never denies its group; charged if it has room and the group is admitted. @default false */
  readonly advisory?: boolean;
  /**
   * Whether its cost is only reserved, and settled later: units may come back at any time, so that a denial is nothing to
   * go by for longer than the moment. @default false
   */
  readonly settles?: boolean;
}

/** A charge to be given back, with the `atMs` of the decision that admitted it. */
export interface Refund extends Charge {
  readonly atMs: number;
}

/**
 * - `'take'`: charge all, or none if one that is not advisory is denied.
 * - `'peek'`: answer what `'take'` would, and change nothing.
 * - `'force'`: charge all, whatever room there is, into debt if need be: for costs learned too late to deny.
 */
export type TakeMode = 'take' | 'peek' | 'force';

export interface TakeOptions {
  /** @default 'take' */
  readonly mode?: TakeMode;
  /**
   * Of a store that waits for no answer longer than its deadline: told of the decisions that come after all, once the
   * take has been rejected. What they charged can then be given back.
   */
  readonly onLate?: (decisions: readonly Decision[]) => void;
  /**
   * Of a store that cannot meet all charges in one step: told of units that were taken, and could not be given back when
   * another charge was denied.
   */
  readonly onRefundFailed?: (error: unknown) => void;
}

/**
 * Where state lives, and whose clock counts. Every call is atomic. `@floodgate/core/testing` has the contract suite
 * that a store must pass.
 */
export interface Store {
  /** Meets all charges in one step: all or nothing. The decisions come in the order of the charges. */
  take(charges: readonly Charge[], options?: TakeOptions): Decision[] | Promise<Decision[]>;
  /** Gives units back to the place that they were taken from; nothing where that place no longer counts. */
  refund(refunds: readonly Refund[]): void | Promise<void>;
  /** Blocks for `durationMs` from now, whatever block there was; 0 lifts it. Counts stay. */
  block(subjects: readonly Subject[], durationMs: number): void | Promise<void>;
  /** Forgets counts and blocks. */
  reset(subjects: readonly Subject[]): void | Promise<void>;
  close(): void | Promise<void>;
  /** The clock that it goes by, where that is not the clock of a server elsewhere. */
  readonly clock?: Clock | undefined;
  /** Whether it decides in this process, and answers at once: no network is asked. @default false */
  readonly inProcess?: boolean;
}

/**
 * Throws unless the charges are such as a store can take: whole costs, keys and policies of text, no subject twice.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_CHARGE`, `FLOODGATE_DUPLICATE_SUBJECT`
 */
export function checkCharges(charges: readonly Charge[]): void {
  // Of a few, comparing is quicker than remembering; of thousands, it would hold up the process.
  const seen = charges.length > FEW ? new Set<string>() : undefined;
  for (let i = 0; i < charges.length; i += 1) {
    const charge = charges[i] as Charge;
    checkCharge(charge);
    const { policy, key } = charge;
    const id = seen && `${policy.length}:${policy}${key}`;
    const isTwice = id === undefined ? isAmong(charges, i, charge) : seen?.has(id) === true;
    if (isTwice) {
      throw new FloodgateError(
        'FLOODGATE_DUPLICATE_SUBJECT',
        `Expected each policy and key once in a take, got policy \`${policy}\` twice for one key`,
      );
    }
    if (id !== undefined) seen?.add(id);
  }
}

const FEW = 16;

/** Whether the subject of a charge is that of one of the first `count`. */
function isAmong(charges: readonly Charge[], count: number, { policy, key }: Charge): boolean {
  for (let i = 0; i < count; i += 1) {
    const other = charges[i] as Charge;
    if (other.key === key && other.policy === policy) return true;
  }
  return false;
}

/**
 * Throws unless a store can give these back.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_CHARGE`
 */
export function checkRefunds(refunds: readonly Refund[]): void {
  for (const refund of refunds) {
    checkCharge(refund);
    if (!Number.isSafeInteger(refund.atMs)) {
      throw invalid('FLOODGATE_INVALID_CHARGE', 'atMs', "its decision's `atMs`", refund.atMs);
    }
  }
}

/** Throws unless one charge is such as a store can take. */
export function checkCharge(charge: Charge): void {
  const { policy, key, cost } = charge;
  const valid =
    Number.isSafeInteger(cost) &&
    cost >= 0 &&
    typeof key === 'string' &&
    key !== '' &&
    typeof policy === 'string';
  if (!valid) throw invalidCharge(charge);
}

function invalidCharge({ policy, key, cost }: Charge): FloodgateError {
  if (!Number.isSafeInteger(cost) || cost < 0) {
    return invalid('FLOODGATE_INVALID_CHARGE', 'cost', 'a whole number, 0 or more', cost);
  }
  if (typeof key !== 'string' || key === '') {
    return invalid('FLOODGATE_INVALID_CHARGE', 'key', 'a text that is not empty', key);
  }
  return invalid('FLOODGATE_INVALID_CHARGE', 'policy', "a policy's name", policy);
}
