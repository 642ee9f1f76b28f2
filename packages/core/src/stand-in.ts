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
  const held = store as Store & { [STAND_IN]?: StandIn };
  if (held[STAND_IN] === undefined) {
    const value = new StandIn(store.clock ?? systemClock);
    Object.defineProperty(store, STAND_IN, { value });
  }
  return held[STAND_IN] as StandIn;
}

/** It is the store's own, and goes with it; and it is one even where a program holds two copies of this package. */
const STAND_IN: unique symbol = Symbol.for('floodgate.stand-in') as never;
