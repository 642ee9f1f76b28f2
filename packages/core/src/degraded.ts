import type { FloodgateError } from './errors.ts';

/** What to do when a store fails: let a memory store take over, let everything pass, or deny everything. */
export type StoreErrorRule = 'local' | 'allow' | 'deny';

/** Why a verdict is not its store's own. */
export interface Degraded {
  /** The strictest rule that decided in a store's place. */
  readonly rule: StoreErrorRule;
  /** The rule that stood in for each decision; `undefined` for one that its store made. */
  readonly rules: readonly (StoreErrorRule | undefined)[];
  /** `FLOODGATE_STORE_FAILED`; its `cause` is what the store threw. */
  readonly error: FloodgateError;
}

/** Of several rules the one that admits the least; `undefined` is a store that answered for itself. */
export function strictest(rules: readonly (StoreErrorRule | undefined)[]): StoreErrorRule {
  if (rules.includes('deny')) return 'deny';
  return rules.includes('local') ? 'local' : 'allow';
}
