import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  type Clock,
  type Decision,
  limitOf,
  type Quota,
  type Store,
  toQuota,
} from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

// Timelines of one subject, worked out by another program in exact rational arithmetic.

/** `[time, cost, allowed, remaining, retryAfterMs, resetAtMs, delayMs]` */
type Step = [number, number, boolean, number, number | 'never', number, number];

interface Timeline {
  readonly quota: Quota;
  readonly steps: readonly Step[];
}

const folder = join(__dirname, 'vectors');
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));

/** Tests that a store, which holds nothing yet, decides as they say. */
export function testWorkedTimelines(makeStore: (clock: Clock) => Store): void {
  test('there is a file for each algorithm', () => {
    expect(files.sort()).toEqual([
      'fixed-window.json',
      'leaky-bucket.json',
      'sliding-window-counter.json',
      'sliding-window-log.json',
      'token-bucket.json',
    ]);
  });

  describe.each(files)('%s', (file) => {
    const timelines: Timeline[] = JSON.parse(readFileSync(join(folder, file), 'utf8'));

    test.each(timelines.map((timeline, index) => ({ ...timeline, index })))(
      'timeline $index: $quota',
      async ({ quota, steps }) => {
        const clock = new ManualClock(0);
        const store = makeStore(clock);
        const charge = { policy: 'policy', key: 'key', quota: toQuota(quota) };
        let latestMs = 0;
        for (const [timeMs, cost, allowed, remaining, retryAfterMs, resetAtMs, delayMs] of steps) {
          clock.set(timeMs);
          const [decision] = (await store.take([{ ...charge, cost }])) as [Decision];
          expect({ timeMs, cost, ...decision }).toEqual({
            timeMs,
            cost,
            allowed,
            limit: limitOf(quota),
            remaining,
            retryAfterMs: retryAfterMs === 'never' ? Number.POSITIVE_INFINITY : retryAfterMs,
            resetAtMs,
            delayMs,
            blocked: false,
            // The vectors leave it out: never before the clock, nor after the latest time there was.
            atMs: decision.atMs,
          });
          latestMs = Math.max(latestMs, timeMs);
          expect(decision.atMs).toBeGreaterThanOrEqual(timeMs);
          expect(decision.atMs).toBeLessThanOrEqual(latestMs);
        }
      },
    );
  });
}
