import { type Decision, MemoryStore, type Quota, type QuotaInput, toQuota } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

interface FloodedStore {
  readonly clock: ManualClock;
  readonly store: MemoryStore;
  readonly quota: Quota;
  readonly take: (key: string, cost?: number) => Decision;
  /** Takes one unit of as many keys that were never seen before: `stranger-0`, `stranger-1`, and so on. */
  readonly flood: (count: number) => void;
}

/** A store of some keys, and what fills it. */
export function setUp(
  maxKeys: number,
  input: QuotaInput = 'fixed-window 1/1m align=first-request',
): FloodedStore {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock, maxKeys });
  const quota = toQuota(input);
  const take = (key: string, cost = 1): Decision =>
    store.take([{ policy: 'p', key, quota, cost }])[0] as Decision;
  let strangers = 0;
  const flood = (count: number): void => {
    for (let i = 0; i < count; i += 1) take(`stranger-${strangers++}`);
  };
  return { clock, store, quota, take, flood };
}
