import type { Backend } from './backend.ts';
import { checkOptions, FloodgateError, invalid } from './errors.ts';
import type { Quota } from './quota.ts';
import { toQuota } from './quota-text.ts';
import type { ChargeRequest, CostOption, Policy } from './rate-limiter-options.ts';
import { settledPolicy } from './settlement.ts';
import type { Store, Subject } from './store.ts';
import type { TakenCharge } from './verdict.ts';

/** A policy as its limiter meets it. */
interface ResolvedPolicy {
  readonly name: string;
  readonly quota: Quota;
  readonly settles: boolean;
  readonly blockMsOnceSettled: number | undefined;
  readonly backend: Backend;
}

/** By what a charge is met. */
type Terms = Pick<ResolvedPolicy, 'quota' | 'settles' | 'blockMsOnceSettled'>;

/** The policies of a limiter: what they charge, and whom. */
export class Policies {
  readonly #all: readonly ResolvedPolicy[];
  /** Quotas of policies that settle, without their blocks: the same ones each time, which stores are quicker with. */
  readonly #unblocking: WeakMap<Quota, Quota> = new WeakMap();

  constructor(policies: readonly Policy[], backendOf: (store: Store | undefined) => Backend) {
    this.#all = policies.map(({ name, quota, settles = false, store }, i) => {
      const read = toQuota(quota, `policies[${i}].quota`);
      return {
        name,
        settles,
        quota: settles ? this.#withoutBlock(read) : read,
        blockMsOnceSettled: settles ? read.blockMs : undefined,
        backend: backendOf(store),
      };
    });
  }

  get backends(): readonly Backend[] {
    return this.#all.map(({ backend }) => backend);
  }

  find(name: string): ResolvedPolicy | undefined {
    return this.#all.find((policy) => policy.name === name);
  }

  /** @throws FloodgateError `FLOODGATE_INVALID_CHARGE`, `FLOODGATE_UNKNOWN_POLICY` */
  chargesOf(whose: string | readonly ChargeRequest[], options?: CostOption): TakenCharge[] {
    const defaultCost = costOf(options);
    if (typeof whose === 'string') {
      const charges = new Array<TakenCharge>(this.#all.length);
      for (let i = 0; i < charges.length; i += 1) {
        const policy = this.#all[i] as ResolvedPolicy;
        charges[i] = chargeOf(policy, policy.name, whose, defaultCost, false);
      }
      return charges;
    }
    if (!Array.isArray(whose) || whose.length === 0) {
      const expectation =
        'a key, or a list of at least one { policy, key, cost?, quota?, advisory? }';
      throw invalid('FLOODGATE_INVALID_CHARGE', 'take', expectation, whose);
    }
    return whose.map((request: ChargeRequest) => {
      if (typeof request !== 'object' || request === null) {
        const expectation = '{ policy, key, cost?, quota?, advisory? }';
        throw invalid('FLOODGATE_INVALID_CHARGE', 'charge', expectation, request);
      }
      const { policy, key, cost = defaultCost, advisory = false } = request;
      return chargeOf(this.#termsOf(request), policy, key, cost, advisory);
    });
  }

  /** The subjects of a key, or those that are named, checked. */
  subjectsOf(whose: string | readonly Subject[]): readonly Subject[] {
    const subjects =
      typeof whose === 'string'
        ? this.#all.map(({ name }) => ({ policy: name, key: whose }))
        : whose;
    const valid =
      Array.isArray(subjects) &&
      subjects.every((one) => typeof one?.policy === 'string' && typeof one.key === 'string');
    if (valid) return subjects;
    const expectation = 'a key, or a list of { policy, key }';
    throw invalid('FLOODGATE_INVALID_OPTION', 'key', expectation, subjects);
  }

  /** All that is counted of these subjects: of those whose costs are settled, what is settled as well. */
  countedOf(subjects: readonly Subject[]): readonly Subject[] {
    return subjects.flatMap((subject) => {
      const settles = this.find(subject.policy)?.settles === true;
      return settles ? [subject, { ...subject, policy: settledPolicy(subject.policy) }] : subject;
    });
  }

  /** By what quota a charge is met: that of its policy, or one of its own. */
  #termsOf(request: ChargeRequest): Terms {
    const policy = this.find(request.policy);
    if (request.quota === undefined) {
      if (policy !== undefined) return policy;
      const known = this.#all.map(({ name }) => `\`${name}\``).join(', ');
      throw new FloodgateError(
        'FLOODGATE_UNKNOWN_POLICY',
        `Expected \`policy\` to be one of ${known}, got \`${request.policy}\``,
      );
    }
    const quota = toQuota(request.quota);
    if (policy?.settles !== true) return { quota, settles: false, blockMsOnceSettled: undefined };
    return { quota: this.#withoutBlock(quota), settles: true, blockMsOnceSettled: quota.blockMs };
  }

  #withoutBlock(quota: Quota): Quota {
    if (quota.blockMs === undefined) return quota;
    let unblocking = this.#unblocking.get(quota);
    if (unblocking === undefined) {
      const { blockMs: _, ...rest } = quota;
      unblocking = rest;
      this.#unblocking.set(quota, unblocking);
    }
    return unblocking;
  }
}

/** Of one shape whatever it charges, which stores are quicker with. */
function chargeOf(
  { quota, settles, blockMsOnceSettled }: Terms,
  policy: string,
  key: string,
  cost: number,
  advisory: boolean,
): TakenCharge {
  return { policy, key, quota, cost, advisory, settles, blockMsOnceSettled };
}

/** Every take comes by here: a loop finds that all is well without the list of names that `checkOptions` makes. */
function costOf(options: CostOption | undefined): number {
  if (options === undefined) return 1;
  let valid = typeof options === 'object' && options !== null && !Array.isArray(options);
  for (const name in options) if (name !== 'cost') valid = false;
  if (!valid) checkOptions('FLOODGATE_INVALID_OPTION', 'take options', options, ['cost']);
  return options.cost ?? 1;
}
