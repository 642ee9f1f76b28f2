import { Backend, type BackendOptions } from './backend.ts';
import type { StoreErrorRule } from './degraded.ts';
import type { Policy } from './rate-limiter-options.ts';
import type { Store } from './store.ts';

export interface BackendsOptions extends Omit<BackendOptions, 'store' | 'ruleOf'> {
  readonly onStoreError: StoreErrorRule;
}

/** The stores of a limiter, and of those that extend it: each fails, and is stood in for, once for all of them. */
export class Backends {
  readonly #options: BackendsOptions;
  readonly #rules: Map<string, StoreErrorRule> = new Map();
  readonly #backends: Map<Store, Backend> = new Map();

  constructor(options: BackendsOptions) {
    this.#options = options;
  }

  /** Keeps what to do for a policy while its store fails. */
  setRule({ name, onStoreError }: Pick<Policy, 'name' | 'onStoreError'>): void {
    if (onStoreError !== undefined) this.#rules.set(name, onStoreError);
  }

  of(store: Store): Backend {
    let backend = this.#backends.get(store);
    if (backend === undefined) {
      const ruleOf = (policy: string): StoreErrorRule =>
        this.#rules.get(policy) ?? this.#options.onStoreError;
      backend = new Backend({ ...this.#options, store, ruleOf });
      this.#backends.set(store, backend);
    }
    return backend;
  }
}
