import { hasShape, type Shape, shapeOf } from './algorithms/carry-over.ts';
import { KeyIndex } from './key-index.ts';
import type { Quota } from './quota.ts';

/** All subjects of one policy. */
export interface PolicySubjects {
  readonly name: string;
  readonly index: KeyIndex;
  /** The kinds that its slots have: one, unless its quota changed its algorithm or its window. */
  readonly kinds: Kind[];
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

  policy(name: string): PolicySubjects | undefined {
    if (this.#lastPolicy?.name === name) return this.#lastPolicy;
    const policy = this.#policies.get(name);
    if (policy !== undefined) this.#lastPolicy = policy;
    return policy;
  }

  policyOrNew(name: string): PolicySubjects {
    let policy = this.#policies.get(name);
    if (policy === undefined) {
      policy = { name, index: new KeyIndex(), kinds: [] };
      this.#policies.set(name, policy);
    }
    return policy;
  }

  at(id: number): Kind {
    return this.#kinds[id] as Kind;
  }

  /** The policy's kind for a quota (or for none yet), held by one slot more. */
  hold(policy: PolicySubjects, quota: Quota | undefined): Kind {
    let kind = policy.kinds.find(({ shape }) =>
      quota === undefined || shape === undefined ? shape === quota : hasShape(shape, quota),
    );
    if (kind === undefined) {
      const free = this.#kinds.indexOf(undefined);
      const id = free < 0 ? this.#kinds.length : free;
      kind = { id, policy, shape: quota && shapeOf(quota), quota, slots: 0 };
      this.#kinds[id] = kind;
      policy.kinds.push(kind);
    }
    kind.slots += 1;
    return kind;
  }

  release(kind: Kind): void {
    kind.slots -= 1;
    if (kind.slots > 0) return;
    this.#kinds[kind.id] = undefined;
    const { policy } = kind;
    policy.kinds.splice(policy.kinds.indexOf(kind), 1);
    if (policy.kinds.length === 0) {
      this.#policies.delete(policy.name);
      this.#lastPolicy = undefined;
    }
  }
}
