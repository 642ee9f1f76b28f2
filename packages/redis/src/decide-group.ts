import type { Charge, Decision, Quota, TakeMode } from '@floodgate/core';
import {
  carryOver,
  decide,
  hasShape,
  isAdmitted,
  type State,
  shapeOf,
} from '@floodgate/core/internal';
import type { Known } from './states.ts';

/**
 * Decides charges that are met all or none, from what is known of each one's subject, as `lua/take.lua` does. What is
 * known then is what the server keeps.
 */
export function decideGroup(
  known: readonly Known[],
  charges: readonly Charge[],
  mode: TakeMode,
  nowMs: number,
): Decision[] {
  const drafts = charges.map(({ quota }, i) => draftOf(known[i] as Known, quota, nowMs));
  const decisions = charges.map(({ quota, cost }, i) =>
    decide(drafts[i] as State, quota, nowMs, cost, mode === 'force'),
  );
  const admitted = isAdmitted(charges, decisions);
  // In a denied group, those that had room say what they have left, uncharged.
  const answers = admitted
    ? decisions
    : decisions.map((decision, i) => {
        const { quota, cost } = charges[i] as Charge;
        if (!decision.allowed || cost === 0) return decision;
        return decide(draftOf(known[i] as Known, quota, nowMs), quota, nowMs, 0, false);
      });
  if (mode !== 'peek') {
    for (const [i, charge] of charges.entries()) {
      keep(known[i] as Known, charge, drafts[i] as State, decisions[i] as Decision, admitted);
    }
  }
  return answers;
}

/** A copy of what is known of a subject, in the shape of a quota. */
function draftOf({ state, shape }: Known, quota: Quota, nowMs: number): State {
  const draft = { ...state };
  if (shape !== undefined && !hasShape(shape, quota)) carryOver(draft, shape, quota, nowMs);
  return draft;
}

function keep(
  known: Known,
  { quota, cost }: Charge,
  draft: State,
  { allowed }: Decision,
  admitted: boolean,
): void {
  if (allowed) {
    if (!admitted || cost === 0) return;
    draft.behindSinceMs = 0;
  } else if (known.shape === undefined || hasShape(known.shape, quota)) {
    // A denial leaves a state as it was, but for these.
    known.state.blockedUntilMs = draft.blockedUntilMs;
    known.state.behindSinceMs = draft.behindSinceMs;
    return;
  }
  known.state = draft;
  known.shape = shapeOf(quota);
}
