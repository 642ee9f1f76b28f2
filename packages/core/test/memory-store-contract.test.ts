import { describe, expect, test } from '@jest/globals';
import {
  type Charge,
  type Decision,
  MemoryStore,
  type Refund,
  type Store,
  type Subject,
  type TakeOptions,
} from '../src/index.ts';
import { FailingStore, ManualClock, storeContract } from '../src/testing/index.ts';

describe('a memory store keeps the contract of stores', () => {
  const cases = storeContract(() => {
    const clock = new ManualClock();
    return { clock, store: new MemoryStore({ clock }) };
  });
  test.each(cases)('$name', ({ run }) => run());
});

describe('so does one that answers in promises', () => {
  const cases = storeContract(async () => {
    const clock = new ManualClock();
    return { clock, store: new FailingStore(new MemoryStore({ clock })) };
  });
  test.each(cases)('$name', ({ run }) => run());
});

/** A store that is right, to be made wrong in one place. */
class Wrong implements Store {
  readonly store: MemoryStore;

  constructor(clock: ManualClock) {
    this.store = new MemoryStore({ clock });
  }

  take(charges: readonly Charge[], options?: TakeOptions): Decision[] | Promise<Decision[]> {
    return this.store.take(charges, options);
  }

  refund(refunds: readonly Refund[]): void {
    this.store.refund(refunds);
  }

  block(subjects: readonly Subject[], durationMs: number): void {
    this.store.block(subjects, durationMs);
  }

  reset(subjects: readonly Subject[]): void {
    this.store.reset(subjects);
  }

  close(): void {
    this.store.close();
  }
}

/** Asks the store inside, and changes what it is asked or what it says. */
const decisions =
  (change: (decision: Decision, charge: Charge) => Partial<Decision>) =>
  (clock: ManualClock): Store =>
    new (class extends Wrong {
      override take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
        return this.store
          .take(charges, options)
          .map((decision, i) => ({ ...decision, ...change(decision, charges[i] as Charge) }));
      }
    })(clock);

const wrongStores: Record<string, (clock: ManualClock) => Store> = {
  'takes the charges of a group one by one': (clock) =>
    new (class extends Wrong {
      override take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
        return charges.flatMap((charge) => this.store.take([charge], options));
      }
    })(clock),
  'takes where it should only peek': (clock) =>
    new (class extends Wrong {
      override take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
        return this.store.take(charges, options?.mode === 'force' ? options : undefined);
      }
    })(clock),
  'denies what is forced on it': (clock) =>
    new (class extends Wrong {
      override take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
        return this.store.take(charges, options?.mode === 'force' ? undefined : options);
      }
    })(clock),
  'looks, waits, and then takes': (clock) =>
    new (class extends Wrong {
      override async take(charges: readonly Charge[], options?: TakeOptions): Promise<Decision[]> {
        const peeked = this.store.take(charges, { mode: 'peek' });
        await Promise.resolve();
        if (options?.mode !== 'peek' && peeked.every(({ allowed }) => allowed)) {
          this.store.take(charges, { mode: 'force' });
          return peeked;
        }
        return this.store.take(charges, options);
      }
    })(clock),
  'lets advisory charges deny': (clock) =>
    new (class extends Wrong {
      override take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
        return this.store.take(
          charges.map((charge) => ({ ...charge, advisory: false })),
          options,
        );
      }
    })(clock),
  'puts policy and key together': (clock) =>
    new (class extends Wrong {
      override take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
        const merged = charges.map((one) => ({
          ...one,
          policy: '',
          key: `${one.policy}:${one.key}`,
        }));
        return this.store.take(merged, options);
      }
    })(clock),
  'gives nothing back': (clock) =>
    new (class extends Wrong {
      override refund(): void {}
    })(clock),
  'gives back whatever the time': (clock) =>
    new (class extends Wrong {
      override refund(refunds: readonly Refund[]): void {
        this.store.refund(refunds.map((refund) => ({ ...refund, atMs: clock.now() })));
      }
    })(clock),
  'never blocks by hand': (clock) =>
    new (class extends Wrong {
      override block(): void {}
    })(clock),
  'lifts a block and forgets the counts': (clock) =>
    new (class extends Wrong {
      override block(subjects: readonly Subject[], durationMs: number): void {
        if (durationMs === 0) this.store.reset(subjects);
        else this.store.block(subjects, durationMs);
      }
    })(clock),
  'resets nothing': (clock) =>
    new (class extends Wrong {
      override reset(): void {}
    })(clock),
  'resets everything': (clock) =>
    new (class extends Wrong {
      override reset(): void {
        this.store.clear();
      }
    })(clock),
  'tells the wait in whole seconds': decisions(({ retryAfterMs }) => ({
    retryAfterMs: Math.ceil(retryAfterMs / 1000) * 1000,
  })),
  'says -1 where there is no wait': decisions(({ retryAfterMs }) => ({
    retryAfterMs: retryAfterMs === Number.POSITIVE_INFINITY ? -1 : retryAfterMs,
  })),
  'is one unit too generous in what remains': decisions(({ remaining, limit }) => ({
    remaining: Math.min(limit, remaining + 1),
  })),
  'delays what is denied': decisions(({ delayMs, retryAfterMs }) => ({
    delayMs: delayMs || retryAfterMs,
  })),
  'goes back with the clock': (clock) => decisions(() => ({ atMs: clock.now() }))(clock),
  'knows no blocks of quotas': (clock) =>
    new (class extends Wrong {
      override take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
        const plain = charges.map(({ quota: { blockMs: _, ...quota }, ...charge }) => ({
          ...charge,
          quota,
        }));
        return this.store.take(plain, options);
      }
    })(clock),
  'forgets when the quota changes': (clock) =>
    new (class extends Wrong {
      override take(charges: readonly Charge[], options?: TakeOptions): Decision[] {
        const apart = charges.map((charge) => ({
          ...charge,
          policy: `${charge.policy} ${charge.quota.algorithm}`,
        }));
        return this.store.take(apart, options);
      }
    })(clock),
};

describe('the contract finds a store that', () => {
  test.each(Object.entries(wrongStores))('%s', async (_, make) => {
    const cases = storeContract(() => {
      const clock = new ManualClock();
      return { clock, store: make(clock) };
    });
    // By a case that says what is wrong, not only by differing from a memory store.
    const named = cases.filter(({ name }) => !name.startsWith('agrees with a memory store'));
    const outcomes = await Promise.allSettled(named.map(({ run }) => run()));
    const failures = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [String(outcome.reason)] : [],
    );
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toMatch(/^Error: Expected .+, got .+/s);
  });
});
