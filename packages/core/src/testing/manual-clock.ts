import type { Clock } from '../clock.ts';

/** A clock that a test moves by hand. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #sleepers: Set<Sleeper> = new Set();

  /** @param startMs whole milliseconds since 1970; by default the first of January 2026, 00:00 UTC */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** Moves the clock to a time, back or ahead, and wakes whoever has slept until then. */
  set(nowMs: number): void {
    this.#nowMs = nowMs;
    for (const sleeper of [...this.#sleepers].sort((a, b) => a.untilMs - b.untilMs)) {
      if (sleeper.untilMs <= nowMs) sleeper.wake();
    }
  }

  advance(ms: number): void {
    this.set(this.#nowMs + ms);
  }

  /** How many sleep. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        untilMs: this.#nowMs + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#sleepers.add(sleeper);
      if (ms <= 0) sleeper.wake();
    });
  }
}

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}
