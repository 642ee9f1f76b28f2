import type { Clock } from '../clock.ts';
import type { Decision } from '../decision.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Charge, Refund, Store, Subject, TakeOptions } from '../store.ts';

export interface FailingStoreOptions {
  /** Answers in promises, as a store behind a network does. @default true */
  readonly remote?: boolean;
}

/**
 * A store that does what another does until it is told to fail.
 *
 * @example
 * const store = new FailingStore(new MemoryStore({ clock }));
 * store.fail();         // from now on every call fails
 * store.failCall(3);    // or the third one from now
 * store.recover();
 */
export class FailingStore implements Store {
  readonly #store: Store;
  readonly #remote: boolean;
  #failing = false;
  #error: unknown;
  #callsUntilFailure = 0;

  constructor(store: Store, { remote = true }: FailingStoreOptions = {}) {
    this.#store = store;
    this.#remote = remote;
  }

  /** That of a store in this process; behind a network there is none. */
  get clock(): Clock | undefined {
    return this.#remote ? undefined : this.#store.clock;
  }

  get inProcess(): boolean {
    return !this.#remote;
  }

  /** Fails every call from now on. */
  fail(error: unknown = new Error('Told to fail')): void {
    this.#failing = true;
    this.#error = error;
  }

  /** Fails one call: the `count`-th from now. */
  failCall(count: number, error: unknown = new Error('Told to fail')): void {
    this.#callsUntilFailure = count;
    this.#error = error;
  }

  recover(): void {
    this.#failing = false;
    this.#callsUntilFailure = 0;
  }

  take(charges: readonly Charge[], options?: TakeOptions): MaybePromise<Decision[]> {
    return this.#call(() => this.#store.take(charges, options));
  }

  refund(refunds: readonly Refund[]): MaybePromise<void> {
    return this.#call(() => this.#store.refund(refunds));
  }

  block(subjects: readonly Subject[], durationMs: number): MaybePromise<void> {
    return this.#call(() => this.#store.block(subjects, durationMs));
  }

  reset(subjects: readonly Subject[]): MaybePromise<void> {
    return this.#call(() => this.#store.reset(subjects));
  }

  close(): MaybePromise<void> {
    return this.#store.close();
  }

  #call<T>(work: () => MaybePromise<T>): MaybePromise<T> {
    if (!this.#remote) return this.#failOr(work);
    return Promise.resolve().then(() => this.#failOr(work));
  }

  #failOr<T>(work: () => MaybePromise<T>): MaybePromise<T> {
    this.#callsUntilFailure -= 1;
    if (this.#failing || this.#callsUntilFailure === 0) throw this.#error;
    return work();
  }
}
