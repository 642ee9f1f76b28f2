import { hasShape, type Shape, shapeOf } from './algorithms/carry-over.ts';
import { KeyIndex } from './key-index.ts';
import { periodOf, type Quota } from './quota.ts';

/** All subjects of one policy. */
export interface PolicySubjects {
  readonly name: string;
  readonly index: KeyIndex;
  /**
   * The kinds that its slots have, by their window or interval: one, unless its quota changed. Of one window there are
   * only a few, as many as there are algorithms.
   */
  readonly kinds: Map<number, Kind[]>;
}

/** What slots of one policy have in common, kept once; let go with the last of them. */
export interface Kind {
  readonly id: number;
  readonly policy: PolicySubjects;
  readonly shape: Shape | undefined;
  /** The last quota met of this shape: most often the only one, and then nothing needs to be compared. */
  quota: Quota | undefined;
  slots: number;
}

/**
 * The policies of a memory store, and the kinds of their slots, each counted by the slots that hold it: what no slot
 * holds any more is forgotten.
 */
export class Kinds {
  readonly #policies: Map<string, PolicySubjects> = new Map();
  /** The policy met last: most often the one met next. */
  #lastPolicy: PolicySubjects | undefined;
  readonly #kinds: (Kind | undefined)[] = [];
  readonly #freeIds: number[] = [];

  policy(name: string): PolicySubjects | undefined {
    if (this.#lastPolicy?.name === name) return this.#lastPolicy;
    const policy = this.#policies.get(name);
    if (policy !== undefined) this.#lastPolicy = policy;
    return policy;
  }

  policyOrNew(name: string): PolicySubjects {
    let policy = this.#policies.get(name);
    if (policy === undefined) {
      policy = { name, index: new KeyIndex(), kinds: new Map() };
      this.#policies.set(name, policy);
    }
    return policy;
  }

  at(id: number): Kind {
    return this.#kinds[id] as Kind;
  }

  /** The policy's kind for a quota (or for none yet), held by one slot more. */
  hold(policy: PolicySubjects, quota: Quota | undefined): Kind {
    const periodMs = quota === undefined ? NO_PERIOD : periodOf(quota);
    let alike = policy.kinds.get(periodMs);
    if (alike === undefined) {
      alike = [];
      policy.kinds.set(periodMs, alike);
    }
    let kind = alike.find((kind) => isKindOf(kind, quota));
    if (kind === undefined) {
      const id = this.#freeIds.pop() ?? this.#kinds.length;
      kind = { id, policy, shape: quota && shapeOf(quota), quota, slots: 0 };
      this.#kinds[id] = kind;
      alike.push(kind);
    }
    kind.slots += 1;
    return kind;
  }

  /** The kind for a slot of `kind` that is charged by `quota` now. */
  change(kind: Kind, quota: Quota): Kind {
    let changed = kind;
    if (!isKindOf(kind, quota)) {
      changed = this.hold(kind.policy, quota);
      this.release(kind);
    }
    changed.quota = quota;
    return changed;
  }

  release(kind: Kind): void {
    kind.slots -= 1;
    if (kind.slots > 0) return;
    const { id, policy, shape } = kind;
    this.#kinds[id] = undefined;
    this.#freeIds.push(id);
    const periodMs = shape?.periodMs ?? NO_PERIOD;
    const alike = policy.kinds.get(periodMs) as Kind[];
    alike.splice(alike.indexOf(kind), 1);
    if (alike.length === 0) policy.kinds.delete(periodMs);
    if (policy.kinds.size === 0) {
      this.#policies.delete(policy.name);
      this.#lastPolicy = undefined;
    }
  }
}

/** Where nothing but a block is remembered. */
const NO_PERIOD = 0;

function isKindOf({ quota: last, shape }: Kind, quota: Quota | undefined): boolean {
  if (last === quota) return true;
  return shape !== undefined && quota !== undefined && hasShape(shape, quota);
}
