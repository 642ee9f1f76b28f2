import { invalid } from './errors.ts';

/** Where a store in this process reads the time, and how one waits by it. */
export interface Clock {
  /** Whole milliseconds since 1970. May step back: {@link Decision.atMs} never does, for one subject. */
  now(): number;
  /** Resolves `ms` milliseconds later; rejects with the signal's reason, and leaves nothing behind, when it aborts. */
  sleep?(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The time of this machine. Nothing else of ours reads it. */
const readSystemTime: () => number = Date.now;

/** The clock of this machine. */
export const systemClock: Clock = Object.freeze({ now: readSystemTime, sleep: sleepByTimer });

/** Milliseconds, and parts of them, since this process began: for how long something takes, whoever sets the clock. */
export function monotonicNow(): number {
  return performance.now();
}

/** @throws FloodgateError `FLOODGATE_INVALID_OPTION` where a clock that was given tells no time */
export function readTime(clock: Clock): number {
  if (clock === systemClock) return readSystemTime();
  const nowMs = clock.now();
  if (Number.isSafeInteger(nowMs) && nowMs >= 0) return nowMs;
  const expectation = 'a clock of whole milliseconds since 1970';
  throw invalid('FLOODGATE_INVALID_OPTION', 'clock', expectation, nowMs);
}

/** Waits by `clock`, or by a timer where the clock cannot sleep. */
export function sleep(clock: Clock | undefined, ms: number, signal?: AbortSignal): Promise<void> {
  return clock?.sleep === undefined ? sleepByTimer(ms, signal) : clock.sleep(ms, signal);
}

/** The longest time that a timer can hold (2^31 - 1 ms, 24.8 days): a longer one fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

function sleepByTimer(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    let leftMs = ms;
    let timer: ReturnType<typeof setTimeout>;
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const wait = (): void => {
      const stepMs = Math.min(leftMs, LONGEST_TIMER_MS);
      leftMs -= stepMs;
      timer = setTimeout(() => {
        if (leftMs > 0) {
          wait();
        } else {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        }
      }, stepMs);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    wait();
  });
}
