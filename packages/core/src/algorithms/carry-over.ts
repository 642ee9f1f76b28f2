import { fillTimeOf, limitOf, periodOf, type Quota } from '../quota.ts';
import { ChargeLog } from './charge-log.ts';
import { windowRuns } from './fixed-window.ts';
import { unitsInWindows } from './sliding-window-counter.ts';
import { unitsInLog } from './sliding-window-log.ts';
import type { State } from './state.ts';

/** What a state knows of the quota that it was made by. */
export interface Shape {
  readonly algorithm: Quota['algorithm'];
  /** The window, or a bucket's interval. */
  readonly periodMs: number;
  /** Of a fixed window: whether windows follow the clock. */
  readonly byClock: boolean;
}

export function shapeOf(quota: Quota): Shape {
  return { algorithm: quota.algorithm, periodMs: periodOf(quota), byClock: followsClock(quota) };
}

export function hasShape(shape: Shape, quota: Quota): boolean {
  return (
    shape.algorithm === quota.algorithm &&
    shape.periodMs === periodOf(quota) &&
    shape.byClock === followsClock(quota)
  );
}

/** Makes of a state of another algorithm, window or interval one of `quota`'s: its units count as one charge, now. */
export function carryOver(state: State, from: Shape, quota: Quota, nowMs: number): void {
  const atMs = Math.max(nowMs, state.atMs);
  replace(state, unitsInUse(state, from, atMs), quota, atMs);
}

/**
 * Where the clock stands more than one window behind a state (a bucket: its time to fill), the state's units count as
 * one charge made now. A charge that is denied changes nothing, so the next one meets the same state: after two
 * windows of that, by the clock as it now is, the units count no more.
 */
export function followClockBack(state: State, quota: Quota, nowMs: number): void {
  const spanMs = fillTimeOf(quota);
  if (state.atMs - nowMs <= spanMs) return;
  const sinceMs = state.behindSinceMs === 0 ? nowMs : Math.min(state.behindSinceMs, nowMs);
  const units = nowMs - sinceMs < 2 * spanMs ? unitsInUse(state, shapeOf(quota), state.atMs) : 0;
  replace(state, units, quota, nowMs);
  state.behindSinceMs = sinceMs;
}

function followsClock(quota: Quota): boolean {
  return quota.algorithm !== 'fixed-window' || quota.align !== 'first-request';
}

function unitsInUse(state: Readonly<State>, shape: Shape, atMs: number): number {
  const { algorithm, periodMs, byClock } = shape;
  switch (algorithm) {
    case 'fixed-window':
      return windowRuns(state, periodMs, byClock, atMs) ? state.used : 0;
    case 'sliding-window-log':
      return unitsInLog(state, periodMs, atMs);
    case 'sliding-window-counter':
      return unitsInWindows(state, periodMs, atMs);
    default:
      // A part of a unit counts as one: never more is admitted. What came back since is unknown without the rate.
      return Math.ceil(state.used / periodMs);
  }
}

function replace(state: State, unitsInUse: number, quota: Quota, atMs: number): void {
  const units = Math.min(unitsInUse, limitOf(quota));
  state.atMs = atMs;
  state.used = 'windowMs' in quota ? units : units * quota.intervalMs;
  // A window from the first request begins with a charge: without units it is over.
  state.earlier = followsClock(quota) ? 0 : units > 0 ? atMs : atMs - periodOf(quota);
  state.log =
    quota.algorithm === 'sliding-window-log' && units > 0
      ? ChargeLog.empty.add(0, atMs, units)
      : undefined;
}
