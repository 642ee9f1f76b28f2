import { expect, test } from '@jest/globals';
import { MemoryStore, toQuota } from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

const charge = { policy: 'p', key: 'k', quota: toQuota('5/1m'), cost: 1 };

test('does what the store inside does, in promises', async () => {
  const clock = new ManualClock();
  const store = new FailingStore(new MemoryStore({ clock }));
  expect(store.clock).toBeUndefined();
  const answer = store.take([charge]);
  expect(answer).toBeInstanceOf(Promise);
  const [decision] = await answer;
  expect(decision?.remaining).toBe(4);
  await store.refund([{ ...charge, atMs: clock.now() }]);
  expect((await store.take([charge]))[0]?.remaining).toBe(4);
  await store.block([charge], 1000);
  expect((await store.take([charge]))[0]?.blocked).toBe(true);
  await store.reset([charge]);
  expect((await store.take([charge]))[0]?.remaining).toBe(4);
  await store.close();
  await expect(store.take([charge])).rejects.toMatchObject({ code: 'FLOODGATE_STORE_CLOSED' });
});

test('or at once, by its clock', () => {
  const clock = new ManualClock();
  const store = new FailingStore(new MemoryStore({ clock }), { remote: false });
  expect(store.clock).toBe(clock);
  expect(store.take([charge])).toMatchObject([{ remaining: 4 }]);
  store.fail(new Error('down'));
  expect(() => store.take([charge])).toThrow('down');
});

test('fails from the word on, until it recovers, and changes nothing meanwhile', async () => {
  const store = new FailingStore(new MemoryStore());
  store.fail(new Error('down'));
  await expect(store.take([charge])).rejects.toThrow('down');
  await expect(store.refund([{ ...charge, atMs: 0 }])).rejects.toThrow('down');
  await expect(store.block([charge], 1)).rejects.toThrow('down');
  await expect(store.reset([charge])).rejects.toThrow('down');
  store.recover();
  expect((await store.take([charge]))[0]?.remaining).toBe(4);
});

test('fails one call: the n-th from now', async () => {
  const store = new FailingStore(new MemoryStore());
  store.failCall(2);
  expect((await store.take([charge]))[0]?.remaining).toBe(4);
  await expect(store.take([charge])).rejects.toThrow('Told to fail');
  expect((await store.take([charge]))[0]?.remaining).toBe(3);
});
