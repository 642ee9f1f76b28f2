import type { Charge, Clock, Decision, Quota, Refund, Subject, TakeMode } from '../src/index.ts';

// What a decision promises, worked out the slow way: every admitted charge is remembered, sums are whole numbers of any
// size, and whatever a decision says is found by trying. It shares nothing with the sources but types.

/** One subject: what it was charged and when, and what else is known of it. */
interface State {
  /** The algorithm and window or interval that it was made by; `undefined` where it was only ever blocked. */
  kind: string | undefined;
  quota: Quota | undefined;
  /** When its last charge was admitted. */
  atMs: number;
  /** What is left of each charge, after refunds. Of buckets: the parts in use at `atMs`, as one. */
  charges: { readonly atMs: number; units: bigint }[];
  blockedUntilMs: number;
  /** When a denied take, the first since the last admitted charge, found the clock more than a window behind. */
  behindSinceMs: number | undefined;
}

interface Outcome {
  decision: Decision;
  /** What is kept if the group is admitted, or if this charge is denied. */
  after: State;
  uncharged: Decision;
}

export class Oracle {
  readonly #clock: Clock;
  readonly #states: Map<string, State> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(charges: readonly Charge[], { mode = 'take' }: { mode?: TakeMode } = {}): Decision[] {
    const outcomes = charges.map((charge) => this.#outcome(charge, mode === 'force'));
    const admitted = outcomes.every(
      ({ decision }, i) => decision.allowed || charges[i]?.advisory === true,
    );
    for (const [i, { decision, after }] of outcomes.entries()) {
      const charge = charges[i] as Charge;
      const counts = decision.allowed ? admitted && charge.cost > 0 : this.#states.has(id(charge));
      if (mode !== 'peek' && counts) this.#states.set(id(charge), after);
    }
    return outcomes.map(({ decision, uncharged }) =>
      decision.allowed && !admitted ? uncharged : decision,
    );
  }

  refund(refunds: readonly Refund[]): void {
    for (const { cost, atMs, ...subject } of refunds) {
      const state = this.#states.get(id(subject));
      if (state?.quota === undefined) continue;
      let left = BigInt(cost) * (isBucket(state.quota) ? BigInt(periodOf(state.quota)) : 1n);
      for (const charge of placeOf(state, state.quota, atMs)) {
        const given = left < charge.units ? left : charge.units;
        charge.units -= given;
        left -= given;
      }
    }
  }

  block(subjects: readonly Subject[], durationMs: number): void {
    for (const subject of subjects) {
      const state = this.#states.get(id(subject)) ?? unseen();
      state.blockedUntilMs = durationMs > 0 ? this.#clock.now() + durationMs : 0;
      this.#states.set(id(subject), state);
    }
  }

  reset(subjects: readonly Subject[]): void {
    for (const subject of subjects) this.#states.delete(id(subject));
  }

  #outcome(charge: Charge, force: boolean): Outcome {
    const { quota, cost } = charge;
    const known = this.#states.get(id(charge)) ?? unseen();
    const nowMs = this.#clock.now();
    const { state, converted, behind } = carriedOver(known, quota, nowMs);
    const atMs = Math.max(nowMs, state.atMs);
    const wasBlocked = state.blockedUntilMs > atMs;
    const allowed = force || (!wasBlocked && admits(state, quota, atMs, cost));

    if (allowed) {
      const after = clone(state);
      if (cost > 0) addCharge(after, quota, atMs, cost);
      after.behindSinceMs = undefined;
      const delayMs =
        quota.algorithm === 'leaky-bucket' && quota.shape !== false && cost > 0 && !wasBlocked
          ? least(0, (d) => inUse(state, quota, atMs + d) === 0n)
          : 0;
      const answer = { allowed, retryAfterMs: 0, blocked: wasBlocked };
      return {
        decision: { ...answer, ...rest(after, quota, atMs), delayMs },
        after,
        uncharged: { ...answer, ...rest(state, quota, atMs), delayMs: 0 },
      };
    }

    const couldPass = limitOf(quota) > 0 && cost <= limitOf(quota);
    // A changed algorithm or window is kept; a clock that stands behind is only taken note of.
    const after = clone(converted ? state : known);
    if (behind) after.behindSinceMs = Math.min(known.behindSinceMs ?? nowMs, nowMs);
    if (!wasBlocked && couldPass && cost > 0 && quota.blockMs !== undefined) {
      after.blockedUntilMs = atMs + quota.blockMs;
    }
    const blockedForMs = Math.max(0, after.blockedUntilMs - atMs);
    const waitMs = couldPass
      ? least(0, (d) => admits(state, quota, atMs + d, cost))
      : Number.POSITIVE_INFINITY;
    const decision = {
      allowed,
      retryAfterMs: Math.max(waitMs, blockedForMs),
      blocked: blockedForMs > 0,
      ...rest({ ...state, blockedUntilMs: after.blockedUntilMs }, quota, atMs),
      delayMs: 0,
    };
    return { decision, after, uncharged: decision };
  }
}

function rest(state: State, quota: Quota, atMs: number) {
  const limit = limitOf(quota);
  const blocked = state.blockedUntilMs > atMs;
  const remaining = blocked ? 0 : least(0, (cost) => !admits(state, quota, atMs, cost + 1));
  const isFull = (t: number) => limit === 0 || admits(state, quota, t, limit);
  const fullAtMs =
    quota.algorithm === 'fixed-window' && quota.align !== 'first-request'
      ? least(atMs, (t) => Math.floor(t / quota.windowMs) > Math.floor(atMs / quota.windowMs))
      : least(atMs, isFull);
  const resetAtMs = blocked ? Math.max(fullAtMs, state.blockedUntilMs) : fullAtMs;
  return { limit, remaining, resetAtMs, atMs };
}

/** Whether the quota itself has room, block or not. */
function admits(state: State, quota: Quota, atMs: number, cost: number): boolean {
  const limit = limitOf(quota);
  if (limit === 0 || cost > limit) return false;
  const unit = isBucket(quota) ? BigInt(periodOf(quota)) : 1n;
  return cost === 0 || inUse(state, quota, atMs) + BigInt(cost) * unit <= BigInt(limit) * unit;
}

/** The units that count at `atMs`; of a bucket, the parts of which a unit has `intervalMs`. */
function inUse(state: State, quota: Quota, atMs: number): bigint {
  switch (quota.algorithm) {
    case 'fixed-window':
      return sum(placeOf(state, quota, atMs));
    case 'sliding-window-log':
      return sum(state.charges.filter((c) => c.atMs > atMs - quota.windowMs && c.atMs <= atMs));
    case 'sliding-window-counter': {
      const overlapMs = BigInt(quota.windowMs - (atMs % quota.windowMs));
      const previous = sum(placeOf(state, quota, atMs - quota.windowMs));
      return (previous * overlapMs) / BigInt(quota.windowMs) + sum(placeOf(state, quota, atMs));
    }
    default: {
      if (state.charges.length === 0) return 0n;
      const back = BigInt(rateOf(quota)) * BigInt(atMs - state.atMs);
      const parts = sum(state.charges) - back;
      return parts > 0n ? parts : 0n;
    }
  }
}

/** The charges that share a place with what was charged at `atMs`: a window, a moment, a bucket. */
function placeOf(state: State, quota: Quota, atMs: number): State['charges'] {
  if (isBucket(quota)) return state.charges;
  if (quota.algorithm === 'sliding-window-log') {
    return state.charges.filter((charge) => charge.atMs === atMs);
  }
  const windowMs = periodOf(quota);
  if (quota.algorithm !== 'fixed-window' || quota.align !== 'first-request') {
    const window = Math.floor(atMs / windowMs);
    return state.charges.filter((charge) => Math.floor(charge.atMs / windowMs) === window);
  }
  let startMs = Number.NEGATIVE_INFINITY;
  for (const charge of state.charges)
    if (charge.atMs >= startMs + windowMs && charge.atMs <= atMs) startMs = charge.atMs;
  return state.charges.filter(
    (c) => atMs < startMs + windowMs && c.atMs >= startMs && c.atMs < startMs + windowMs,
  );
}

/** The state as `quota` has to see it now, and why it is not the one that is known. */
function carriedOver(known: State, quota: Quota, nowMs: number) {
  const converted = known.kind !== undefined && known.kind !== kindOf(quota);
  const state = converted ? asOneCharge(known, quota, Math.max(nowMs, known.atMs)) : known;
  const spanMs = isBucket(quota)
    ? least(
        0,
        (d) =>
          BigInt(d) * BigInt(rateOf(quota)) >= BigInt(limitOf(quota)) * BigInt(periodOf(quota)),
      )
    : periodOf(quota);
  if (state.atMs - nowMs <= spanMs) return { state, converted, behind: false };
  const sinceMs = Math.min(known.behindSinceMs ?? nowMs, nowMs);
  const forgotten = nowMs - sinceMs >= 2 * spanMs;
  const moved = asOneCharge(forgotten ? { ...state, charges: [] } : state, quota, nowMs);
  return { state: moved, converted, behind: true };
}

function asOneCharge(from: State, quota: Quota, atMs: number): State {
  const then = from.quota as Quota;
  // What came back to a bucket of another kind is unknown: a state has no rate.
  const units = isBucket(then)
    ? (sum(from.charges) + BigInt(periodOf(then)) - 1n) / BigInt(periodOf(then))
    : inUse(from, then, Math.max(atMs, from.atMs));
  const state = { ...clone(from), charges: [] };
  const limit = BigInt(limitOf(quota));
  addCharge(state, quota, atMs, Number(units < limit ? units : limit));
  if (units === 0n || limit === 0n) state.charges = [];
  return state;
}

function addCharge(state: State, quota: Quota, atMs: number, cost: number): void {
  const before = isBucket(quota) ? inUse(state, quota, atMs) : 0n;
  const unit = isBucket(quota) ? BigInt(periodOf(quota)) : 1n;
  const charge = { atMs, units: before + BigInt(cost) * unit };
  state.charges = isBucket(quota) ? [charge] : [...state.charges, charge];
  state.atMs = atMs;
  state.kind = kindOf(quota);
  state.quota = quota;
}

/** The least whole number from `from` on of which a condition holds that, once it holds, holds on. */
function least(from: number, holds: (n: number) => boolean): number {
  for (let n = from; n < from + 64; n += 1) if (holds(n)) return n;
  let low = from + 63;
  let step = 64;
  while (!holds(low + step)) {
    low += step;
    step *= 2;
  }
  let high = low + step;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

function unseen(): State {
  return {
    kind: undefined,
    quota: undefined,
    atMs: Number.NEGATIVE_INFINITY,
    charges: [],
    blockedUntilMs: 0,
    behindSinceMs: undefined,
  };
}

function clone(state: State): State {
  return { ...state, charges: state.charges.map((charge) => ({ ...charge })) };
}

const id = ({ policy, key }: Subject): string => JSON.stringify([policy, key]);
const sum = (charges: State['charges']): bigint => charges.reduce((n, { units }) => n + units, 0n);
const isBucket = (quota: Quota): boolean => 'capacity' in quota;
const limitOf = (quota: Quota): number => ('limit' in quota ? quota.limit : quota.capacity);
const periodOf = (quota: Quota): number =>
  'windowMs' in quota ? quota.windowMs : quota.intervalMs;

function rateOf(quota: Quota): number {
  if (quota.algorithm === 'token-bucket') return quota.refillRate;
  return quota.algorithm === 'leaky-bucket' ? quota.leakRate : 0;
}

function kindOf(quota: Quota): string {
  return `${quota.algorithm} ${periodOf(quota)} ${'align' in quota ? quota.align : 'clock'}`;
}
