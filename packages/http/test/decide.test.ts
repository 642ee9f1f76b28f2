import { MemoryStore } from '@floodgate/core';
import { FailingStore } from '@floodgate/core/testing';
import { describe, expect, test } from '@jest/globals';
import {
  byApiKey,
  byIp,
  byUser,
  combine,
  type FloodgateEvent,
  global,
  HttpLimiter,
  type Mode,
  type Outcome,
} from '../src/index.ts';
import { action, body, costs, header, type Options } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

const limit = { limit: 2, window: '1m' } as const;
const user = byUser((request: TestRequest) => request.user);

describe('a request', () => {
  test('is decided in the same turn where nothing answers in a promise', () => {
    const limiter = new HttpLimiter<TestRequest>({
      key: [user, () => undefined, byIp()],
      cost: () => 1,
      mode: () => 'enforce',
      skip: () => false,
      message: () => 'No.',
      policies: [
        { name: 'a', quota: () => '2/1m', when: () => true },
        { name: 'b', quota: { limit: 2, window: '1h' }, key: combine(global(), byIp()) },
      ],
    });
    expect([1, 2, 3].map(() => action(limiter.decide(new TestView())))).toEqual([
      'pass',
      'pass',
      'deny',
    ]);
  });

  test.each<[string, Options]>([
    ['key', { ...limit, key: async () => 'a' }],
    ['key of a list', { ...limit, key: [async () => undefined, byIp()] }],
    ['cost', { ...limit, cost: async () => 1 }],
    ['mode', { ...limit, mode: async (): Promise<Mode> => 'enforce' }],
    ['skip', { ...limit, skip: async () => false }],
    ['limit', { limit: async () => 2, window: '1m' }],
    ['quota', { quota: async () => '2/1m' }],
    ['when', { policies: [{ name: 'a', quota: '2/1m', when: async () => true }] }],
    ['a remote store', { ...limit, store: new FailingStore(new MemoryStore()) }],
    ['a query, which is no Promise but has a `then`', { ...limit, cost: () => new Query(1) }],
  ])('is decided alike in a promise (%s)', async (_, options) => {
    const limiter = new HttpLimiter<TestRequest>(options);
    const outcomes: unknown[] = [];
    for (let i = 0; i < 3; i += 1) {
      const outcome = limiter.decide(new TestView());
      expect(outcome).toBeInstanceOf(Promise);
      outcomes.push(action(await outcome));
    }
    expect(outcomes).toEqual(['pass', 'pass', 'deny']);
  });

  test('may get its message in a promise', async () => {
    const limiter = new HttpLimiter<TestRequest>({
      limit: 0,
      window: '1m',
      message: async (verdict) => `${verdict.tightest.policy}: no.`,
    });
    expect(await body(limiter.decide(new TestView()))).toMatchObject({
      error: { message: 'default: no.' },
    });
  });

  test.each<[string, (fail: () => never) => Options]>([
    ['key', (fail) => ({ ...limit, key: fail })],
    ['byUser', (fail) => ({ ...limit, key: byUser(fail) })],
    ['a part of a key', (fail) => ({ ...limit, key: combine(global(), fail) })],
    ['cost', (fail) => ({ ...limit, cost: fail })],
    ['mode', (fail) => ({ ...limit, mode: fail })],
    ['skip', (fail) => ({ ...limit, skip: fail })],
    ['limit', (fail) => ({ limit: fail, window: '1m' })],
    ['quota', (fail) => ({ quota: fail })],
    ['message', (fail) => ({ limit: 0, window: '1m', message: fail })],
    ['when', (fail) => ({ policies: [{ name: 'a', quota: '2/1m', when: fail }] })],
  ])('fails with what a function throws, at once or in a promise (%s)', async (_, optionsOf) => {
    const failure = new Error('Told to fail');
    const throws = (): never => {
      throw failure;
    };
    const rejects = (async () => throws()) as unknown as () => never;
    const limiter = new HttpLimiter<TestRequest>(optionsOf(throws));
    expect(() => limiter.decide(new TestView())).toThrow(failure);
    const later = new HttpLimiter<TestRequest>(optionsOf(rejects));
    await expect(later.decide(new TestView())).rejects.toBe(failure);
  });

  test.each<[string, unknown, RegExp]>([
    ['limit NaN', { limit: () => Number.NaN, window: '1m' }, /`limit`.*NaN/],
    ['limit undefined', { limit: () => undefined, window: '1m' }, /`limit`.*undefined/],
    ['limit as a text', { limit: () => '5', window: '1m' }, /`limit`.*"5"/],
    ['limit in a promise', { limit: async () => -1, window: '1m' }, /`limit`.*-1/],
    ['quota undefined', { quota: () => undefined }, /`quota`.*undefined/],
    ['quota in words', { quota: () => 'plenty' }, /plenty/],
    ['cost NaN', { ...limit, cost: () => Number.NaN }, /`cost`.*NaN/],
    ['cost -1', { ...limit, cost: () => -1 }, /`cost`.*-1/],
    ['cost undefined', { ...limit, cost: () => undefined }, /`cost`.*undefined/],
    ['mode undefined', { ...limit, mode: () => undefined }, /`mode`.*undefined/],
    ['skip undefined', { ...limit, skip: () => undefined }, /`skip`.*undefined/],
    ['skip as a text', { ...limit, skip: () => 'false' }, /`skip`.*"false"/],
    [
      'when undefined',
      { policies: [{ name: 'a', quota: '2/1m', when: () => undefined }] },
      /`when`/,
    ],
    ['key NaN', { ...limit, key: () => Number.NaN }, /`key`.*NaN/],
    ['message undefined', { limit: 0, window: '1m', message: () => undefined }, /`message`/],
  ])('fails where a function answers what it should not (%s)', async (_, options, message) => {
    const limiter = new HttpLimiter<TestRequest>(options as Options);
    const decide = async (): Promise<unknown> => limiter.decide(new TestView());
    await expect(decide()).rejects.toThrow(message);
    await expect(decide()).rejects.toMatchObject({ name: 'FloodgateError' });
  });

  test('without a key fails, and names the policy and what to do', () => {
    const limiter = new HttpLimiter<TestRequest>({
      key: [user, byApiKey()],
      policies: [{ name: 'per-user', quota: '2/1m' }],
    });
    const decide = (): unknown => limiter.decide(new TestView());
    expect(decide).toThrow(expect.objectContaining({ code: 'FLOODGATE_NO_KEY' }));
    expect(decide).toThrow(/`per-user`.*`byIp\(\)`.*`when`/s);
  });

  test('without a key is dropped, and nobody warned, once its client is gone', () => {
    const events: FloodgateEvent[] = [];
    const limiter = new HttpLimiter<TestRequest>({
      ...limit,
      onEvent: (event) => events.push(event),
    });
    const view = new TestView({ address: undefined });
    view.close();
    expect(limiter.decide(view)).toEqual({ action: 'drop' });
    expect(events).toEqual([]);
  });

  test('has its own limit, whatever other requests have', async () => {
    const limiter = new HttpLimiter<TestRequest>({
      limit: async ({ user }) => Number(user),
      window: '1m',
      key: user,
    });
    const limits = Array.from({ length: 100 }, (_, i) => i + 1);
    const outcomes = await Promise.all(
      limits.map((user) => limiter.decide(new TestView({ user }))),
    );
    expect(outcomes.map((outcome) => header(outcome, 'X-RateLimit-Limit'))).toEqual(
      limits.map(String),
    );
  });

  test('asks once what several policies share', () => {
    const asked: string[] = [];
    const say = <T>(what: string, answer: T): T => {
      asked.push(what);
      return answer;
    };
    const limiter = new HttpLimiter<TestRequest>({
      key: () => say('key', 'a'),
      cost: () => say('cost', 1),
      mode: () => say('mode', 'enforce'),
      policies: [
        { name: 'a', quota: '5/1m' },
        { name: 'b', quota: '5/1h' },
        { name: 'c', quota: '5/1d', cost: () => say('own cost', 2) },
      ],
    });
    const outcome = limiter.decide(new TestView()) as Outcome;
    expect(asked.sort()).toEqual(['cost', 'key', 'mode', 'own cost']);
    expect(costs(outcome)).toEqual({ a: 1, b: 1, c: 2 });
  });
});

/** As database libraries have them. */
class Query<T> implements PromiseLike<T> {
  readonly #row: T;

  constructor(row: T) {
    this.#row = row;
  }

  // biome-ignore lint/suspicious/noThenProperty: this is what it is about
  then<A, B>(
    done?: ((row: T) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): PromiseLike<A | B> {
    return Promise.resolve(this.#row).then(done, failed);
  }
}
