import { MemoryStore } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { describe, expect, test } from '@jest/globals';
import { HttpLimiter } from '../src/index.ts';
import { action, inTurn, type Options } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

describe('a shaped leaky bucket', () => {
  const clock = new ManualClock();
  const shaped: Options = {
    quota: { algorithm: 'leaky-bucket', capacity: 3, leakRate: 1, intervalMs: 1000 },
    store: new MemoryStore({ clock }),
  };

  test('holds each request until its turn, by the clock of its store', async () => {
    const limiter = new HttpLimiter<TestRequest>(shaped);
    const passed: number[] = [];
    const views = [1, 2, 3].map(() => new TestView());
    const pending = views.map(async (view, i) => {
      await limiter.decide(view);
      passed.push(i);
    });
    expect(action(limiter.decide(new TestView()))).toBe('deny');
    for (const expected of [[0], [0, 1], [0, 1, 2]]) {
      await inTurn(undefined)();
      expect(passed).toEqual(expected);
      clock.advance(1000);
    }
    await Promise.all(pending);
    expect(clock.sleeping).toBe(0);
    expect(views.map(({ listeners }) => listeners)).toEqual([0, 0, 0]);
  });

  test('drops a request whose client goes away, and keeps nothing of it', async () => {
    clock.advance(60_000);
    const limiter = new HttpLimiter<TestRequest>({ ...shaped, name: 'left' });
    void limiter.decide(new TestView());
    const view = new TestView();
    const waiting = limiter.decide(view);
    expect([clock.sleeping, view.listeners]).toEqual([1, 1]);
    view.close();
    expect(await waiting).toEqual({ action: 'drop' });
    expect([clock.sleeping, view.listeners]).toEqual([0, 0]);

    const late = new TestView();
    late.close();
    expect(await limiter.decide(late)).toEqual({ action: 'drop' });
    expect([clock.sleeping, late.listeners]).toEqual([0, 0]);
  });

  test('holds nobody in shadow mode', () => {
    clock.advance(60_000);
    const limiter = new HttpLimiter<TestRequest>({ ...shaped, name: 'watched', mode: 'shadow' });
    expect([1, 2, 3, 4].map(() => action(limiter.decide(new TestView())))).toEqual(
      Array.from({ length: 4 }, () => 'pass'),
    );
  });
});
