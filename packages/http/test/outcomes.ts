import { expect } from '@jest/globals';
import type { Denial, HttpLimiterOptions, Outcome, Verdict } from '../src/index.ts';
import type { TestRequest } from './request.ts';

/** What tests here make limiters of. */
export type Options = HttpLimiterOptions<TestRequest>;

/** What was decided; a promise of it is a mistake of the test. */
export function action(outcome: unknown): string | undefined {
  expect(outcome).not.toBeInstanceOf(Promise);
  return (outcome as Outcome | undefined)?.action;
}

export function status(outcome: unknown): number | undefined {
  return (outcome as { status?: number }).status;
}

export function header(outcome: unknown, name: string): string | undefined {
  const { headers } = outcome as { headers: readonly (readonly [string, string])[] };
  return headers.find(([key]) => key === name)?.[1];
}

export function body(outcome: unknown): unknown {
  if (outcome instanceof Promise) return outcome.then(body);
  return JSON.parse(String((outcome as Denial).body?.content));
}

export function costs(outcome: unknown): Record<string, number> {
  const { verdict } = outcome as { verdict: Verdict };
  return Object.fromEntries(verdict.decisions.map(({ policy, cost }) => [policy, cost]));
}

/** A function that answers in a later turn. */
export function inTurn<T>(answer: T): () => Promise<T> {
  return () => new Promise((resolve) => setImmediate(() => resolve(answer)));
}
