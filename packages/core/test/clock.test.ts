import { describe, expect, test } from '@jest/globals';
import { MemoryStore, RateLimiter } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';
import { runChild } from './child.ts';

describe("the machine's clock", () => {
  const { clock } = new MemoryStore();
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    clock.sleep?.(ms, signal) ?? Promise.reject(new Error('It cannot sleep'));

  test('is the system time in whole milliseconds', () => {
    const before = Date.now();
    const now = clock.now();
    expect(Number.isSafeInteger(now)).toBe(true);
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });

  test('sleeps as long as it is told', async () => {
    const startMs = performance.now();
    await sleep(20);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(19);
  });

  test('wakes at an abort, with its reason', async () => {
    const controller = new AbortController();
    const sleeping = sleep(3_600_000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(sleeping).rejects.toThrow('enough');
  });

  test('does not fall asleep where the signal has aborted', async () => {
    await expect(sleep(3_600_000, AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
  });

  test('sleeps longer than a timer can, and an abort leaves nothing behind', async () => {
    // The child would not end if it did, and would be warned if its timer were too long.
    const { stdout, stderr } = await runChild('long-sleep.ts');
    expect(JSON.parse(stdout)).toEqual({ woken: 0, given: ['enough', 'enough', 'enough'] });
    expect(stderr).toBe('');
  });

  test('is what a limiter waits by', async () => {
    const policies = [{ name: 'quick', quota: 'token-bucket 1 1/30ms' }];
    const limiter = new RateLimiter({ policies });
    const { atMs } = limiter.take('k').tightest;
    const verdict = await limiter.wait('k');
    expect(verdict.tightest.atMs - atMs).toBeGreaterThanOrEqual(30);
  });
});

describe('a clock moved by hand', () => {
  test('stands still until it is moved', () => {
    const clock = new ManualClock(1_000);
    expect([clock.now(), clock.now()]).toEqual([1_000, 1_000]);
    clock.advance(5);
    expect(clock.now()).toBe(1_005);
    clock.set(10);
    expect(clock.now()).toBe(10);
    expect(new ManualClock().now()).toBe(Date.UTC(2026, 0, 1));
  });

  test('wakes whoever has slept until then, in the order of their times', async () => {
    const clock = new ManualClock();
    const woken: number[] = [];
    const sleepers = [30, 10, 20, 40].map((ms) => clock.sleep(ms).then(() => woken.push(ms)));
    expect(clock.sleeping).toBe(4);
    clock.advance(9);
    await Promise.resolve();
    expect(woken).toEqual([]);
    clock.advance(21);
    await Promise.all(sleepers.slice(0, 3));
    expect(woken).toEqual([10, 20, 30]);
    expect(clock.sleeping).toBe(1);
    await clock.sleep(0);
    await clock.sleep(-5);
    expect(clock.sleeping).toBe(1);
  });

  test('lets go of a sleeper whose signal aborts', async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const sleeping = clock.sleep(10, controller.signal);
    controller.abort(new Error('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    expect(clock.sleeping).toBe(0);
    await expect(clock.sleep(10, controller.signal)).rejects.toThrow('enough');
  });
});
