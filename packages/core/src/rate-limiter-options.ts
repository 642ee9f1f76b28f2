import type { StoreErrorRule } from './degraded.ts';
import type { Duration } from './duration.ts';
import { checkOptions, invalid } from './errors.ts';
import type { EventHook } from './events.ts';
import type { QuotaInput } from './quota-text.ts';
import { settledPolicy } from './settlement.ts';
import type { Store } from './store.ts';
import type { Verdict } from './verdict.ts';

/** A named quota. */
export interface Policy<S extends Store = Store> {
  /** Unique within a limiter, whatever its case: headers, hooks and stored keys show it. */
  readonly name: string;
  readonly quota: QuotaInput;
  /**
   * Whether its costs are reserved, and settled once they are known. Then a denial, which may be due to what is merely
   * reserved, starts no block: the quota's `blockFor` starts when what `verdict.settle` settled fills it alone.
   *
   * @default false
   */
  readonly settles?: boolean;
  /** @default the limiter's */
  readonly store?: S;
  /** @default the limiter's */
  readonly onStoreError?: StoreErrorRule;
}

export interface RateLimiterOptions<S extends Store = Store, P extends Store = Store> {
  readonly policies: readonly Policy<P>[];
  /** @default a `MemoryStore` of the limiter's own */
  readonly store?: S;
  /** What to do while a store fails. @default 'local' */
  readonly onStoreError?: StoreErrorRule;
  /** How many processes share the limits: under `'local'` each takes its part of them. @default 1 */
  readonly instances?: number;
  /** Called once for each take, before its caller goes on. */
  readonly onVerdict?: (verdict: Verdict) => unknown;
  /** @default the process's warnings, where there is a process */
  readonly onEvent?: EventHook;
}

/** One policy's claim on a request, as a caller puts it. */
export interface ChargeRequest {
  readonly policy: string;
  readonly key: string;
  /** Units: a whole number. @default 1 */
  readonly cost?: number;
  /** @default the policy's; a name that is no policy's needs one */
  readonly quota?: QuotaInput;
  /** Never denies the request; charged if it has room and the request is admitted. @default false */
  readonly advisory?: boolean;
}

export interface CostOption {
  /** Units: a whole number. 0 asks without using anything. @default 1 */
  readonly cost?: number;
}

export interface WaitOptions extends CostOption {
  readonly signal?: AbortSignal;
  /** Fails at once, saying how long it would be, rather than wait longer than this in all. */
  readonly maxWait?: Duration;
}

/** @throws FloodgateError `FLOODGATE_INVALID_OPTION` */
export function checkLimiterOptions(options: RateLimiterOptions<Store, Store>): void {
  checkOptions(OPTION, 'RateLimiter options', options, [
    'policies',
    'store',
    'onStoreError',
    'instances',
    'onVerdict',
    'onEvent',
  ]);
  const { policies, instances = 1 } = options;
  if (!Array.isArray(policies) || policies.length === 0) {
    throw invalid(OPTION, 'policies', 'a list of at least one { name, quota }', policies);
  }
  if (!Number.isSafeInteger(instances) || instances < 1) {
    throw invalid(OPTION, 'instances', 'a whole number, 1 or more', instances);
  }
  for (const name of ['onVerdict', 'onEvent'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw invalid(OPTION, name, 'a function', options[name]);
    }
  }
  checkStoreOptions(options);
  const names = new Set<string>();
  for (const policy of policies as readonly Policy[]) {
    checkOptions(OPTION, 'policies', policy, ['name', 'quota', 'settles', 'store', 'onStoreError']);
    checkStoreOptions(policy);
    const { name } = policy;
    if (typeof name !== 'string' || name === '') {
      throw invalid(OPTION, 'name', 'a text that is not empty', name);
    }
    if (names.has(name.toLowerCase())) {
      throw invalid(OPTION, 'policies', 'names that differ, not only in case', name);
    }
    names.add(name.toLowerCase());
    if (policy.settles !== undefined && typeof policy.settles !== 'boolean') {
      throw invalid(OPTION, 'settles', 'true or false', policy.settles);
    }
  }
  for (const { name, settles } of policies) {
    if (settles && names.has(settledPolicy(name).toLowerCase())) {
      const expectation = 'different from the name under which a policy counts what is settled';
      throw invalid(OPTION, 'name', expectation, settledPolicy(name));
    }
  }
}

function checkStoreOptions({ store, onStoreError = 'local' }: Partial<Policy>): void {
  if (store !== undefined && typeof store?.take !== 'function') {
    throw invalid(OPTION, 'store', 'a store', store);
  }
  if (!RULES.includes(onStoreError)) {
    throw invalid(OPTION, 'onStoreError', "'local', 'allow' or 'deny'", onStoreError);
  }
}

const OPTION = 'FLOODGATE_INVALID_OPTION';
const RULES: readonly unknown[] = ['local', 'allow', 'deny'];
