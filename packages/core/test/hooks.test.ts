import { describe, expect, test } from '@jest/globals';
import { type FloodgateEvent, MemoryStore, RateLimiter, type Verdict } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';
import { runChild } from './child.ts';

const policies = [{ name: 'a', quota: 'sliding-window-log 1/1m' }];
const MISTAKE = new Error('my mistake');
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('onVerdict', () => {
  test('is told of each take once, before its caller goes on, and of nothing else', () => {
    const told: Verdict[] = [];
    const limiter = new RateLimiter({ policies, onVerdict: (verdict) => told.push(verdict) });
    const taken = [limiter.take('k'), limiter.take('k'), limiter.take([{ policy: 'a', key: 'x' }])];
    limiter.peek('k');
    taken[0]?.settle(0);
    limiter.block('k', '1s');
    limiter.reset('k');
    expect(told).toEqual(taken);
    expect(told.map(({ allowed }) => allowed)).toEqual([true, false, true]);
  });

  test('is told of each attempt of a wait', async () => {
    const clock = new ManualClock();
    const told: boolean[] = [];
    const limiter = new RateLimiter({
      policies,
      store: new MemoryStore({ clock }),
      onVerdict: ({ allowed }) => told.push(allowed),
    });
    limiter.take('k');
    const waiting = limiter.wait('k');
    await settled();
    clock.advance(60_000);
    await waiting;
    expect(told).toEqual([true, false, true]);
  });

  test('is told of a store that answers in promises before the promise resolves', async () => {
    const told: Verdict[] = [];
    const store = new FailingStore(new MemoryStore());
    const limiter = new RateLimiter({
      policies,
      store,
      onVerdict: (verdict) => told.push(verdict),
    });
    const verdict = await limiter.take('k');
    expect(told).toEqual([verdict]);
  });

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw MISTAKE;
      },
    ],
    ['rejects', async () => Promise.reject(MISTAKE)],
    ['rejects in a promise of another library', () => new ForeignPromise(MISTAKE)],
  ])('that %s is reported, and reaches no caller', async (_, onVerdict) => {
    const events: FloodgateEvent[] = [];
    const limiter = new RateLimiter({
      policies,
      onVerdict,
      onEvent: (event) => events.push(event),
    });
    expect(limiter.take('k').allowed).toBe(true);
    await settled();
    expect(events).toMatchObject([
      {
        code: 'warning',
        reason: 'hook-threw',
        message: expect.stringMatching(/^onVerdict.*my mistake/),
        error: MISTAKE,
      },
    ]);
  });
});

describe('onEvent', () => {
  test('is told of keys that were dropped: the first time, and each time that their number has doubled', () => {
    const events: FloodgateEvent[] = [];
    const store = new MemoryStore({ clock: new ManualClock(), maxKeys: 10 });
    const limiter = new RateLimiter({ policies, store, onEvent: (event) => events.push(event) });
    for (let i = 0; i < 110; i += 1) limiter.take(`k${i}`);
    expect(store.dropped).toBe(100);
    expect(new Set(events.map(({ code }) => code))).toEqual(new Set(['keys-dropped']));
    expect(events.length).toBe(7);
    expect(events[0]?.message).toMatch(/maxKeys/);
    expect(events.every(({ message }) => !/k\d/.test(message))).toBe(true);
  });

  test('that fails, or is left out, leaves what happened to the warnings of the process', async () => {
    const { stdout, stderr } = await runChild('warnings.ts');
    expect(stdout.trim()).toBe('{"allowed":[true,true,true,true,true,true]}');
    const warnings = stderr.split('\n').filter((line) => line.includes('FloodgateWarning'));
    expect(warnings).toEqual([
      // What happens is told each time that it does.
      expect.stringMatching(/\[degraded\] FloodgateWarning: .*gone.*local/),
      expect.stringMatching(/\[recovered\] FloodgateWarning: /),
      expect.stringMatching(/\[degraded\] FloodgateWarning: .*gone.*local/),
      expect.stringMatching(/\[recovered\] FloodgateWarning: /),
      expect.stringMatching(/\[warning\] FloodgateWarning: onVerdict.*no count/),
      expect.stringMatching(/\[warning\] FloodgateWarning: onVerdict.*no count/),
      expect.stringMatching(/\[warning\] FloodgateWarning: onEvent.*no log/),
      expect.stringMatching(/\[warning\] FloodgateWarning: onEvent.*no log either/),
    ]);
  });
});

/** What promises were before they were in the language: it has a `then`, and no more. */
class ForeignPromise {
  readonly #error: unknown;

  constructor(error: unknown) {
    this.#error = error;
  }

  // biome-ignore lint/suspicious/noThenProperty: that is what makes it one
  then(_resolve: unknown, reject?: (error: unknown) => void): void {
    queueMicrotask(() => reject?.(this.#error));
  }
}
