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

  /** Remembers what a store answered, of the policies for which that may be asked. */
  note(
    charges: readonly Charge[],
    decisions: readonly Decision[],
    isNoted: (policy: string) => boolean,
  ): void {
    for (let i = 0; i < charges.length; i += 1) {
      const charge = charges[i] as Charge;
      const decision = decisions[i] as Decision;
      if (decision.allowed) this.#noteAdmission(charge);
      else if (isNoted(charge.policy)) this.#noteDenial(charge, decision);
    }
  }

  /** Of 0, lifts blocks, and leaves who was denied for what was used. */
  block(subjects: readonly Subject[], durationMs: number): void {
    const untilMs = readTime(this.#clock) + durationMs;
    for (const subject of subjects) {
      if (durationMs === 0) {
        if (this.#denials.get(idOf(subject))?.blocked) this.#denials.delete(idOf(subject));
        continue;
      }
      const denial = {
        untilMs,
        waitMs: durationMs,
        emptyAtMs: untilMs,
        limit: undefined,
        cost: 0,
        remaining: 0,
      };
      this.#keep(idOf(subject), { ...denial, blocked: true });
    }
  }

  forget(subjects: readonly Subject[]): void {
    for (const subject of subjects) this.#denials.delete(idOf(subject));
  }

  /**
   * The decision that a charge got, or one of its cost or less, if it still holds. `met` is the charge as it is met while
   * the store is away, perhaps by a divided quota.
   */
  of({ quota, cost, ...subject }: Charge, met: Charge): Decision | undefined {
    const id = idOf(subject);
    const denial = this.#denials.get(id);
    if (denial === undefined) return undefined;
    const nowMs = readTime(this.#clock);
    if (denial.untilMs <= nowMs) {
      this.#denials.delete(id);
      return undefined;
    }
    // A clock that was set back keeps nobody out for longer than was told.
    if (denial.untilMs - nowMs > denial.waitMs) {
      denial.emptyAtMs -= denial.untilMs - nowMs - denial.waitMs;
      denial.untilMs = nowMs + denial.waitMs;
    }
    const limit = limitOf(quota);
    const isOfQuota = denial.blocked || denial.limit === limit;
    if (!isOfQuota || cost < denial.cost) return undefined;
    const metLimit = limitOf(met.quota);
    return {
      allowed: false,
      limit: metLimit,
      remaining: Math.min(denial.remaining, metLimit),
      retryAfterMs: cost > limit ? Number.POSITIVE_INFINITY : denial.untilMs - nowMs,
      resetAtMs: Math.max(denial.emptyAtMs, denial.untilMs),
      delayMs: 0,
      blocked: denial.blocked,
      atMs: nowMs,
    };
  }

  /** An admission at a smaller cost says nothing of a larger one; nor one of another limit, unless of a block. */
  #noteAdmission({ quota, cost, ...subject }: Charge): void {
    if (this.#denials.size === 0) return;
    const id = idOf(subject);
    const known = this.#denials.get(id);
    if (known === undefined) return;
    const isTold = cost > 0 && cost >= known.cost && known.limit === limitOf(quota);
    if (known.blocked || isTold) this.#denials.delete(id);
  }

  #noteDenial({ quota, cost, ...subject }: Charge, decision: Decision): void {
    const { retryAfterMs, resetAtMs, atMs, remaining, blocked } = decision;
    if (retryAfterMs === Number.POSITIVE_INFINITY) return;
    const id = idOf(subject);
    const nowMs = readTime(this.#clock);
    const known = this.#denials.get(id);
    // Of a larger cost, it says nothing of smaller ones that are denied as well.
    const isSmaller = known !== undefined && known.cost < cost && known.limit === limitOf(quota);
    if (isSmaller && !blocked && known.untilMs > nowMs) return;
    this.#keep(id, {
      // By this process's clock: the store's may be another.
      untilMs: nowMs + retryAfterMs,
      waitMs: retryAfterMs,
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
  untilMs: number;
  readonly waitMs: number;
  /** From when on the whole limit is there again. */
  emptyAtMs: number;
  /** Of the quota; a block by hand holds for any. */
  readonly limit: number | undefined;
  /** Smaller ones may be admitted. */
  readonly cost: number;
  readonly remaining: number;
  readonly blocked: boolean;
}

/** Some 20 MB, if keys are short. Beyond it, who was denied first is forgotten. */
const MOST_DENIALS = 100_000;

function idOf({ policy, key }: Subject): string {
  return `${policy.length}:${policy}${key}`;
}
