import { expect, test } from '@jest/globals';
import { MemoryStore, parseQuota, type Quota, slidingWindowLog } from '../src/index.ts';
import { Kinds } from '../src/kinds.ts';
import { ManualClock } from '../src/testing/index.ts';

// What a memory store keeps once for all subjects of one policy and one shape of quota.

test('a take looks at its quota as often, with however many windows its policy was met', () => {
  const store = new MemoryStore({ clock: new ManualClock() });
  const looks = Array.from({ length: 20_000 }, (_, i) => {
    const quota = new CountedQuota(slidingWindowLog({ limit: 1, window: 60_000 + i }));
    const charge = { policy: 'p', key: `k${i}`, quota: quota.counted, cost: 1 };
    expect(store.take([charge])[0]?.allowed).toBe(true);
    expect(store.take([charge])[0]?.allowed).toBe(false);
    return quota.looks;
  });
  expect(store.size).toBe(20_000);
  expect(looks[19_999]).toBe(looks[1]);
});

test('quotas of one algorithm, window and alignment are of one kind, whatever their limit', () => {
  const kinds = new Kinds();
  const policy = kinds.policyOrNew('p');
  const idOf = (quota: string) => kinds.hold(policy, parseQuota(quota)).id;
  const texts = ['5/1m', '5/1h', 'fixed-window 5/1m', 'fixed-window 5/1m align=first-request'];
  const ids = [kinds.hold(policy, undefined).id, ...texts.map(idOf)];
  expect(new Set(ids).size).toBe(5);
  expect(texts.map((text) => idOf(text.replace('5', '9')))).toEqual(ids.slice(1));
  expect(kinds.hold(policy, undefined).id).toBe(ids[0]);
});

test('what nobody holds any more is forgotten, and its number given to the next', () => {
  const kinds = new Kinds();
  const policy = kinds.policyOrNew('p');
  const minute = kinds.hold(policy, parseQuota('5/1m'));
  const hour = kinds.hold(policy, parseQuota('5/1h'));
  expect(kinds.hold(policy, parseQuota('5/1m'))).toBe(minute);
  kinds.release(minute);
  expect(kinds.hold(policy, parseQuota('9/1m'))).toBe(minute);
  kinds.release(minute);
  kinds.release(minute);
  const day = kinds.hold(policy, parseQuota('5/1d'));
  expect([day.id, hour.id]).toEqual([minute.id, 1]);
  expect(kinds.at(day.id)).toBe(day);
  for (const kind of [day, hour]) kinds.release(kind);
  expect(kinds.policy('p')).toBeUndefined();
});

test('a kind that changes lets go of the old one, and knows the quota met last', () => {
  const kinds = new Kinds();
  const policy = kinds.policyOrNew('p');
  const [minute, more, hour] = ['5/1m', '9/1m', '5/1h'].map(parseQuota) as [Quota, Quota, Quota];
  const held = kinds.hold(policy, minute);
  expect(kinds.change(held, more)).toBe(held);
  expect(held).toMatchObject({ quota: more, slots: 1 });
  const changed = kinds.change(held, hour);
  expect(changed).toMatchObject({ quota: hour, slots: 1 });
  expect(held.slots).toBe(0);
  kinds.release(changed);
  expect(kinds.policy('p')).toBeUndefined();
});

/** A quota that counts how often its fields are read. */
class CountedQuota {
  looks = 0;
  readonly counted: Quota;

  constructor(quota: Quota) {
    this.counted = new Proxy(quota, {
      get: (target, field) => {
        this.looks += 1;
        return Reflect.get(target, field);
      },
    });
  }
}
