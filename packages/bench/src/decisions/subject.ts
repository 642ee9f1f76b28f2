import type { Clock } from '@floodgate/core';

/** Whether decisions let requests pass. */
export type Outcome = 'admitted' | 'denied';

export interface Setup {
  readonly outcome: Outcome;
  /** How many keys there will be. */
  readonly keyCount: number;
  /** For those of ours that are to see another time than the system's. */
  readonly clock?: Clock;
}

/** A limiter that is ready to decide. */
export interface Contestant {
  /**
   * Decides once for each key. Every contestant has its own loop, so that its call is compiled for it alone, and
   * leaves what was decided in {@link sink}.
   */
  readonly decide: (keys: readonly string[]) => void | Promise<void>;
  readonly close?: () => void;
}

/** Something that decides, and can be made afresh. */
export interface Subject {
  readonly name: string;
  /** The least that must be done, what we do, or what others do. */
  readonly kind: 'floor' | 'ours' | 'peer';
  readonly prepare: (setup: Setup) => Contestant;
}

/** Where decisions go: the compiler must not find out that nobody looks at them, and leave them out. */
export const sink: { last: unknown } = { last: undefined };

/** Beyond what any run asks for. */
const PLENTY = 1_000_000_000;
/** Longer than any run: no window ends, no bucket refills, in between. */
export const LONG_MS: number = 30 * 24 * 60 * 60 * 1000;

/** Units that are there for each key: no end of them, or one, which is taken before anything is measured. */
export function limitFor(outcome: Outcome): number {
  return outcome === 'admitted' ? PLENTY : 1;
}
