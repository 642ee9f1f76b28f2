import type { Charge, Decision, Quota, Refund, Store, Subject, TakeMode } from '@floodgate/core';
import fc from 'fast-check';

/** One call to a store. */
export type Call =
  | { readonly call: 'take'; readonly mode: TakeMode; readonly charges: readonly Charge[] }
  | { readonly call: 'refund'; readonly refunds: readonly Refund[] }
  | { readonly call: 'block'; readonly subjects: readonly Subject[]; readonly durationMs: number }
  | { readonly call: 'reset'; readonly subjects: readonly Subject[] };

/** A call some time after the one before; what it refunds depends on what was taken by then. */
export type Step = { readonly afterMs: number } & (
  | Exclude<Call, { call: 'refund' }>
  | { readonly call: 'refund'; readonly given: readonly Given[] }
);

/** Units given back: of a charge made before (which, counted back from the last), at its time or beside it. */
interface Given {
  readonly back: number;
  /** `undefined`: all of them. */
  readonly cost: number | undefined;
  readonly besideMs: number;
}

interface World {
  /** Of each policy, the quotas that it has from call to call. */
  readonly quotas: readonly (readonly Quota[])[];
  readonly keys: readonly string[];
  readonly delays: fc.Arbitrary<number>;
  readonly costs: fc.Arbitrary<number>;
  readonly blocks: fc.Arbitrary<number>;
  /** How often each is called. */
  readonly weights: { readonly take: number; readonly refund: number; readonly change: number };
  readonly modes: readonly TakeMode[];
}

const MODES: readonly TakeMode[] = [...Array<TakeMode>(8).fill('take'), 'peek', 'force'];
const WEIGHTS = { take: 16, refund: 4, change: 1 };

export function stepsIn(
  world: Partial<World> & Pick<World, 'quotas' | 'delays' | 'costs'>,
): fc.Arbitrary<Step> {
  const { quotas, delays, costs, keys = ['a', 'b'] } = world;
  const { blocks = fc.constantFrom(0, 20, 300), modes = MODES, weights = WEIGHTS } = world;
  const all = quotas.flatMap((of, i) => keys.map((key) => ({ policy: `policy-${i}`, key, of })));
  const charges = all.map(({ of, ...subject }) =>
    fc.record({
      policy: fc.constant(subject.policy),
      key: fc.constant(subject.key),
      quota: fc.constantFrom(...of),
      cost: costs,
      advisory: fc.constantFrom(false, false, false, true),
    }),
  );
  const groups = fc
    .subarray(charges, { minLength: 1, maxLength: Math.min(4, charges.length) })
    .chain((group) => fc.tuple(...group));
  const subjects = fc.subarray(
    all.map(({ policy, key }) => ({ policy, key })),
    { minLength: 1, maxLength: Math.min(3, all.length) },
  );
  const periodMs = Math.max(
    ...quotas.flat().map((quota) => ('windowMs' in quota ? quota.windowMs : quota.intervalMs)),
  );
  const given = fc.record({
    back: fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 100 })),
    cost: fc.oneof(fc.constant(undefined), costs),
    besideMs: fc.constantFrom(0, 0, 0, 0, 1, -1, periodMs, -periodMs),
  });
  const call = <T extends Call['call']>(name: T) => ({ afterMs: delays, call: fc.constant(name) });
  return fc.oneof(
    {
      weight: weights.take,
      arbitrary: fc.record({ ...call('take'), mode: fc.constantFrom(...modes), charges: groups }),
    },
    {
      weight: weights.refund,
      arbitrary: fc.record({
        ...call('refund'),
        given: fc
          .array(given, { minLength: 1, maxLength: 3 })
          // Twice the same in one call, too.
          .chain((once) => fc.constantFrom(once, once, [...once, ...once])),
      }),
    },
    {
      weight: weights.change,
      arbitrary: fc.record({ ...call('block'), subjects, durationMs: blocks }),
    },
    { weight: weights.change, arbitrary: fc.record({ ...call('reset'), subjects }) },
  );
}

/** What a step calls, after what was taken before it. */
export function callOf({ afterMs: _, ...step }: Step, taken: readonly Refund[]): Call {
  if (step.call !== 'refund') return step;
  const refunds = step.given.flatMap(({ back, cost, besideMs }) => {
    const refund = taken.at(-1 - back);
    if (refund === undefined) return [];
    return [{ ...refund, cost: cost ?? refund.cost, atMs: refund.atMs + besideMs }];
  });
  return { call: 'refund', refunds };
}

export function perform(
  store: Store,
  call: Call,
): ReturnType<Store['take']> | ReturnType<Store['refund']> {
  switch (call.call) {
    case 'take':
      return store.take(call.charges, call);
    case 'refund':
      return store.refund(call.refunds);
    case 'block':
      return store.block(call.subjects, call.durationMs);
    case 'reset':
      return store.reset(call.subjects);
  }
}

/** What a call charged, to be given back later. */
export function takenBy(call: Call, answer: unknown): Refund[] {
  if (call.call !== 'take') return [];
  const decisions = answer as readonly Decision[];
  return call.charges.map((charge, i) => ({ ...charge, atMs: (decisions[i] as Decision).atMs }));
}
