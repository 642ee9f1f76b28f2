import { setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 25;

/** Attempts it until it succeeds, and returns that result; where it does not in time, rejects as the last attempt did. */
export async function eventually<T>(attempt: () => Promise<T>, limitMs = 30_000): Promise<T> {
  const lateness = AbortSignal.timeout(limitMs);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (lateness.aborted) throw error;
      await sleep(STEP_MS);
    }
  }
}
