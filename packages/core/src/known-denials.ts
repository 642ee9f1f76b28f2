import { type Clock, readTime } from './clock.ts';
import type { Decision } from './decision.ts';
import { limitOf } from './quota.ts';
import type { Charge, Subject } from './store.ts';

/** Whom a store denied, or this process blocked, and until when: that stays so while the store is away. */
export class KnownDenials {
  readonly #clock: Clock;
  readonly #denials: Map<string, Denial> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Remembers what a store answered. */
  note(charges: readonly Charge[], decisions: readonly Decision[]): void {
    for (let i = 0; i < charges.length; i += 1) {
      const charge = charges[i] as Charge;
      const decision = decisions[i] as Decision;
      if (!decision.allowed) this.#noteDenial(charge, decision);
      else if (this.#denials.size > 0) this.#denials.delete(idOf(charge));
    }
  }

  block(subjects: readonly Subject[], durationMs: number): void {
    this.forget(subjects);
    if (durationMs === 0) return;
    const untilMs = readTime(this.#clock) + durationMs;
    for (const subject of subjects) {
      const denial = { untilMs, emptyAtMs: untilMs, limit: undefined, cost: 0, remaining: 0 };
      this.#keep(idOf(subject), { ...denial, blocked: true });
    }
  }

  forget(subjects: readonly Subject[]): void {
    for (const subject of subjects) this.#denials.delete(idOf(subject));
  }

  /** The decision that a charge got, or one of its cost or less, if it still holds. */
  of({ quota, cost, ...subject }: Charge): Decision | undefined {
    const id = idOf(subject);
    const denial = this.#denials.get(id);
    if (denial === undefined) return undefined;
    const nowMs = readTime(this.#clock);
    if (denial.untilMs <= nowMs) {
      this.#denials.delete(id);
      return undefined;
    }
    const limit = limitOf(quota);
    const isOfQuota = denial.blocked || denial.limit === limit;
    if (!isOfQuota || cost < denial.cost) return undefined;
    return {
      allowed: false,
      limit,
      remaining: denial.remaining,
      retryAfterMs: cost > limit ? Number.POSITIVE_INFINITY : denial.untilMs - nowMs,
      resetAtMs: Math.max(denial.emptyAtMs, denial.untilMs),
      delayMs: 0,
      blocked: denial.blocked,
      atMs: nowMs,
    };
  }

  #noteDenial({ quota, cost, ...subject }: Charge, decision: Decision): void {
    const { retryAfterMs, resetAtMs, atMs, remaining, blocked } = decision;
    if (retryAfterMs === Number.POSITIVE_INFINITY) return;
    const id = idOf(subject);
    const nowMs = readTime(this.#clock);
    const known = this.#denials.get(id);
    // Of a larger cost, it says nothing of smaller ones that are denied as well.
    if (known !== undefined && !blocked && known.cost < cost && known.untilMs > nowMs) return;
    this.#keep(id, {
      // By this process's clock: the store's may be another.
      untilMs: nowMs + retryAfterMs,
      emptyAtMs: nowMs + resetAtMs - atMs,
      limit: limitOf(quota),
      cost: blocked ? 0 : cost,
      remaining,
      blocked,
    });
  }

  #keep(id: string, denial: Denial): void {
    this.#denials.delete(id);
    if (this.#denials.size >= MOST_DENIALS) {
      const [oldest] = this.#denials.keys();
      this.#denials.delete(oldest as string);
    }
    this.#denials.set(id, denial);
  }
}

interface Denial {
  readonly untilMs: number;
  /** From when on the whole limit is there again. */
  readonly emptyAtMs: number;
  /** Of the quota; a block by hand holds for any. */
  readonly limit: number | undefined;
  /** Smaller ones may be admitted. */
  readonly cost: number;
  readonly remaining: number;
  readonly blocked: boolean;
}

/** Some 20 MB at most. Beyond it, who was denied first is forgotten. */
const MOST_DENIALS = 100_000;

function idOf({ policy, key }: Subject): string {
  return `${policy.length}:${policy}${key}`;
}
