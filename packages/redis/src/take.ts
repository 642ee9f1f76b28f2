import {
  type Charge,
  type Decision,
  FloodgateError,
  type Quota,
  type TakeMode,
} from '@floodgate/core';
import {
  carryOver,
  decide,
  hasShape,
  isAdmitted,
  limitOf,
  periodOf,
  type State,
} from '@floodgate/core/internal';
import { readState } from './states.ts';

/** What `lua/take.lua` is told of each charge. */
export function chargeArguments({ quota, cost, advisory }: Charge): string[] {
  return [
    letterOf(quota),
    String(limitOf(quota)),
    String(periodOf(quota)),
    String(rateOf(quota)),
    String(quota.blockMs ?? 0),
    String(cost),
    advisory === true ? '1' : '0',
  ];
}

/** What a take came to: `lua/take.lua` says how things stood, and the algorithms what follows from that. */
export function readDecisions(
  reply: unknown,
  charges: readonly Charge[],
  mode: TakeMode,
): Decision[] {
  const [time, ...states] = checkReply(reply, charges.length + 1);
  const nowMs = Number(time);
  const stateOf = (index: number): State =>
    shapedState(states[index] as string, (charges[index] as Charge).quota, nowMs);

  const decisions = charges.map(({ quota, cost }, index) =>
    decide(stateOf(index), quota, nowMs, cost, mode === 'force'),
  );
  if (isAdmitted(charges, decisions)) return decisions;
  // In a denied group, those that had room say what they have left, uncharged.
  return decisions.map((decision, index) => {
    const { quota, cost } = charges[index] as Charge;
    return decision.allowed && cost > 0 ? decide(stateOf(index), quota, nowMs, 0, false) : decision;
  });
}

/** What is known of a subject, in the shape of a quota. */
function shapedState(text: string, quota: Quota, nowMs: number): State {
  const { state, shape } = readState(text);
  if (shape !== undefined && !hasShape(shape, quota)) carryOver(state, shape, quota, nowMs);
  return state;
}

function checkReply(reply: unknown, length: number): readonly string[] {
  const valid =
    Array.isArray(reply) &&
    reply.length === length &&
    reply.every((item) => typeof item === 'string') &&
    /^\d+$/.test(reply[0] as string);
  if (!valid) {
    const message = 'Redis failed (it replied to a take with what is no reply to one)';
    throw new FloodgateError('FLOODGATE_STORE_FAILED', message);
  }
  return reply;
}

function letterOf(quota: Quota): string {
  switch (quota.algorithm) {
    case 'fixed-window':
      return quota.align === 'first-request' ? 'r' : 'f';
    case 'sliding-window-log':
      return 'l';
    case 'sliding-window-counter':
      return 'c';
    case 'token-bucket':
      return 't';
    case 'leaky-bucket':
      return 'k';
  }
}

function rateOf(quota: Quota): number {
  if ('refillRate' in quota) return quota.refillRate;
  return 'leakRate' in quota ? quota.leakRate : 0;
}
