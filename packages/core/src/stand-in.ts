import { type Clock, systemClock } from './clock.ts';
import { KnownDenials } from './known-denials.ts';
import { MemoryStore } from './memory-store.ts';
import type { Store, Subject } from './store.ts';

/** What is known and counted in this process in the place of a store, while that fails. */
export class StandIn {
  readonly clock: Clock;
  readonly denials: KnownDenials;
  #memory: MemoryStore | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
    this.denials = new KnownDenials(clock);
  }

  /** Kept, so that a store which fails now and then does not start it anew. */
  get memory(): MemoryStore {
    this.#memory ??= new MemoryStore({ clock: this.clock });
    return this.#memory;
  }

  block(subjects: readonly Subject[], durationMs: number): void {
    this.#memory?.block(subjects, durationMs);
    this.denials.block(subjects, durationMs);
  }

  reset(subjects: readonly Subject[]): void {
    this.#memory?.reset(subjects);
    this.denials.forget(subjects);
  }
}

/** A store's stand-in: one for all limiters that share the store, which count together without it as they do with it. */
export function standInOf(store: Store): StandIn {
  let standIn = standIns.get(store);
  if (standIn === undefined) {
    standIn = new StandIn(store.clock ?? systemClock);
    standIns.set(store, standIn);
  }
  return standIn;
}

/** They belong to their stores, and go with them. */
const standIns: WeakMap<Store, StandIn> = new WeakMap();
