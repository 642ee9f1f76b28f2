import { describe, expect, test } from '@jest/globals';
import {
  MemoryStore,
  type QuotaInput,
  RateLimiter,
  type Store,
  tokenBucket,
} from '../src/index.ts';
import { FailingStore, ManualClock } from '../src/testing/index.ts';

/** A limiter of some policies, by a clock of its own. */
function setUp<const Q extends Record<string, QuotaInput>>(quotas: Q) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const policies = Object.entries(quotas).map(([name, quota]) => ({ name, quota }));
  const limiter = new RateLimiter({ store, policies });
  const left = (key = 'k') =>
    Object.fromEntries(
      limiter.peek(key, { cost: 0 }).decisions.map(({ policy, remaining }) => [policy, remaining]),
    );
  return { clock, store, limiter, left };
}

describe('several policies', () => {
  test('of one key have a count each', () => {
    const { limiter } = setUp({ minute: 'fixed-window 5/1m', day: 'fixed-window 50/1d' });
    for (let i = 0; i < 5; i += 1) expect(limiter.take('k').allowed).toBe(true);
    const { allowed, tightest, decisions } = limiter.take('k');
    expect(allowed).toBe(false);
    expect(tightest.policy).toBe('minute');
    expect(decisions).toMatchObject([
      { policy: 'minute', allowed: false, remaining: 0 },
      { policy: 'day', allowed: true, remaining: 45 },
    ]);
  });

  test('what one denies is charged to none', () => {
    const { clock, limiter, left } = setUp({
      minute: 'sliding-window-log 10/1m',
      'half-hour': 'sliding-window-log 30/30m',
    });
    let admitted = 0;
    const call = (count: number) => {
      for (let i = 0; i < count; i += 1) if (limiter.take('k').allowed) admitted += 1;
    };
    call(16);
    clock.advance(61_000);
    call(15);
    expect(admitted).toBe(20);
    expect(left()).toEqual({ minute: 0, 'half-hour': 10 });
  });

  test('a denial is told as the one that denied sees it, by the longest wait of several', () => {
    const { limiter } = setUp({
      room: 'fixed-window 60/1m',
      short: 'fixed-window 0/1m',
      hour: 'fixed-window 1/1h',
      minute: 'fixed-window 1/1m',
    });
    limiter.take([
      { policy: 'hour', key: 'k' },
      { policy: 'minute', key: 'k' },
    ]);
    const { tightest, retryAfterMs } = limiter.take([
      { policy: 'room', key: 'k' },
      { policy: 'minute', key: 'k' },
      { policy: 'hour', key: 'k' },
    ]);
    expect(tightest).toMatchObject({
      policy: 'hour',
      limit: 1,
      remaining: 0,
      retryAfterMs: 3_600_000,
    });
    expect(retryAfterMs).toBe(3_600_000);
    expect(limiter.take('k').retryAfterMs).toBe(Number.POSITIVE_INFINITY);
    expect(limiter.take('k').tightest.policy).toBe('short');
  });

  test('may be met each by a key, a cost and a quota of its own', () => {
    const { limiter } = setUp({ global: '1000/1m', user: '10/1m' });
    const verdict = limiter.take([
      {
        policy: 'user',
        key: 'user:42',
        cost: 3,
        quota: tokenBucket({ capacity: 5, refillRate: 1 }),
      },
      { policy: 'global', key: 'global' },
    ]);
    expect(verdict.decisions).toMatchObject([
      { policy: 'user', key: 'user:42', cost: 3, limit: 5, remaining: 2, advisory: false },
      { policy: 'global', key: 'global', cost: 1, limit: 1000, remaining: 999 },
    ]);
    expect(verdict.decision('global')).toBe(verdict.decisions[1]);
    expect(verdict.decision('nobody')).toBeUndefined();
  });

  test('may be met by one policy twice, under two keys', () => {
    const { limiter } = setUp({ account: '5/1m' });
    const charges = [
      { policy: 'account', key: 'from', cost: 2 },
      { policy: 'account', key: 'to', cost: 1 },
    ];
    expect(limiter.take(charges).decisions).toMatchObject([
      { key: 'from', remaining: 3 },
      { key: 'to', remaining: 4 },
    ]);
  });

  test('may include one that the limiter does not have, if it comes with a quota', () => {
    const { limiter } = setUp({ a: '5/1m' });
    const other = { policy: 'b', key: 'k', quota: '2/1m' };
    expect(limiter.take([other]).tightest).toMatchObject({ policy: 'b', remaining: 1 });
    expect(() => limiter.take([{ policy: 'b', key: 'k' }])).toThrow(
      expect.objectContaining({
        code: 'FLOODGATE_UNKNOWN_POLICY',
        message: 'Expected `policy` to be one of `a`, got `b`',
      }),
    );
  });

  test('each request is limited by the quota that came with it, and no other request', () => {
    const { limiter } = setUp({ user: '1/1m' });
    for (let limit = 1; limit <= 100; limit += 1) {
      const quota = { limit, window: '1m' };
      const [decision] = limiter.take([{ policy: 'user', key: `u${limit}`, quota }]).decisions;
      expect(decision).toMatchObject({ limit, remaining: limit - 1 });
    }
    expect(() =>
      limiter.take([{ policy: 'user', key: 'k', quota: { limit: Number.NaN, window: '1m' } }]),
    ).toThrow(expect.objectContaining({ code: 'FLOODGATE_INVALID_QUOTA' }));
    expect(limiter.take('k').tightest.limit).toBe(1);
  });
});

describe('the tightest of those that had room is the one with the least share left', () => {
  test.each([
    [{ a: '10/1m', b: '100/1m' }, 'a'],
    [{ a: '100/1m', b: '10/1m' }, 'b'],
    [{ a: '10/1m', b: '10/1h' }, 'a'],
    [{ a: '10/1h', b: '10/1m' }, 'a'],
    [{ a: '10000000/30d', b: '9999999/30d' }, 'b'],
  ])('of %o it is %s', (quotas, name) => {
    const { limiter } = setUp(quotas as unknown as Record<string, string>);
    expect(limiter.take('k').tightest.policy).toBe(name);
  });
});

describe('the tightest', () => {
  test('is not the one with the fewest units left, but with the smallest share of its limit', () => {
    const { limiter } = setUp({ few: '10/1m', many: '100/1m' });
    const { tightest } = limiter.take([
      { policy: 'few', key: 'k', cost: 4 },
      { policy: 'many', key: 'k', cost: 50 },
    ]);
    expect(tightest).toMatchObject({ policy: 'many', remaining: 50 });
  });

  test('of equals is the first, admitted or denied', () => {
    const { limiter } = setUp({ a: 'fixed-window 2/1m', b: 'fixed-window 2/1m' });
    const reversed = ['b', 'a'].map((policy) => ({ policy, key: 'k' }));
    expect(limiter.peek('k').tightest.policy).toBe('a');
    expect(limiter.peek(reversed).tightest.policy).toBe('b');
    limiter.take('k', { cost: 2 });
    expect(limiter.take('k').tightest.policy).toBe('a');
    expect(limiter.take(reversed).tightest.policy).toBe('b');
  });
});

describe('an advisory charge', () => {
  const charges = (cost = 1) => [
    { policy: 'hard', key: 'k', cost },
    { policy: 'soft', key: 'k', advisory: true },
  ];

  test('denies nothing, and is told only in its own decision', () => {
    const { limiter } = setUp({ hard: '5/1m', soft: '1/1h' });
    expect(limiter.take(charges())).toMatchObject({ allowed: true, enforced: true });
    const verdict = limiter.take(charges());
    expect(verdict).toMatchObject({ allowed: true, retryAfterMs: 0 });
    expect(verdict.tightest.policy).toBe('hard');
    expect(verdict.decision('soft')).toMatchObject({
      allowed: false,
      advisory: true,
      remaining: 0,
    });
  });

  test('is charged only with its group', () => {
    const { limiter, left } = setUp({ hard: '5/1m', soft: '1/1h' });
    expect(limiter.take(charges(6)).allowed).toBe(false);
    expect(left()).toEqual({ hard: 5, soft: 1 });
  });

  test('alone makes a verdict that binds nobody', () => {
    const { limiter } = setUp({ soft: '1/1h' });
    const only = [{ policy: 'soft', key: 'k', advisory: true }];
    limiter.take(only);
    const verdict = limiter.take(only);
    expect(verdict).toMatchObject({ allowed: true, enforced: false, retryAfterMs: 0 });
    expect(verdict.tightest).toMatchObject({ policy: 'soft', allowed: false });
  });
});

describe('a verdict', () => {
  test('that admits says how long to wait for a turn, the longest of several', () => {
    const { limiter } = setUp({
      a: 'leaky-bucket 9 1/1s',
      b: 'leaky-bucket 9 1/2s',
      c: 'leaky-bucket 9 1/5s shape=false',
    });
    expect(limiter.take('k').delayMs).toBe(0);
    expect(limiter.take('k').delayMs).toBe(2000);
  });

  test('that denies delays nothing', () => {
    const { limiter } = setUp({ queue: 'leaky-bucket 9 1/1s', hard: '1/1m' });
    limiter.take('k');
    expect(limiter.take('k')).toMatchObject({ allowed: false, delayMs: 0 });
  });

  test('of one exact store is no more than exact', () => {
    const { limiter } = setUp({ a: '5/1m' });
    expect(limiter.take('k')).toMatchObject({ bound: 0, degraded: undefined });
  });
});

describe('by key or by subject', () => {
  test('a peek shows all and changes nothing', () => {
    const { limiter, left } = setUp({ a: '5/1m', b: '3/1m' });
    expect(limiter.peek('k', { cost: 4 })).toMatchObject({ allowed: false });
    expect(limiter.peek('k').decisions).toMatchObject([{ remaining: 4 }, { remaining: 2 }]);
    expect(limiter.peek([{ policy: 'b', key: 'k', cost: 2 }]).decisions).toMatchObject([
      { policy: 'b', cost: 2, remaining: 1 },
    ]);
    expect(left()).toEqual({ a: 5, b: 3 });
    limiter.peek('k').settle(4);
    expect(left()).toEqual({ a: 5, b: 3 });
  });

  test('a block holds in every policy, or in those that are named', () => {
    const { clock, limiter } = setUp({ a: '5/1m', b: '3/1m' });
    limiter.block('k', '1h');
    expect(limiter.take('k')).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
    expect(limiter.take('k').decisions.map(({ blocked }) => blocked)).toEqual([true, true]);
    expect(limiter.take('other').allowed).toBe(true);
    limiter.unblock([{ policy: 'a', key: 'k' }]);
    expect(limiter.take('k').decisions.map(({ blocked }) => blocked)).toEqual([false, true]);
    limiter.block([{ policy: 'b', key: 'k' }], 1000);
    clock.advance(1000);
    expect(limiter.take('k').allowed).toBe(true);
  });

  test('an unblock keeps the counts, a reset does not', () => {
    const { limiter, left } = setUp({ a: '5/1m', b: '3/1m' });
    limiter.take('k');
    limiter.block('k', 1000);
    limiter.unblock('k');
    expect(left()).toEqual({ a: 4, b: 2 });
    limiter.reset([{ policy: 'b', key: 'k' }]);
    expect(left()).toEqual({ a: 4, b: 3 });
    limiter.reset('k');
    expect(left()).toEqual({ a: 5, b: 3 });
  });

  test('a policy that the limiter does not have, but was given a quota for, is known too', () => {
    const { limiter } = setUp({ a: '5/1m' });
    const request = { policy: 'other', key: 'k', quota: '2/1m' };
    limiter.take([request]);
    limiter.block([request], '1h');
    expect(limiter.take([request]).tightest.blocked).toBe(true);
    limiter.unblock([request]);
    expect(limiter.take([request]).tightest.remaining).toBe(0);
    limiter.reset([request]);
    expect(limiter.take([request]).tightest.remaining).toBe(1);
  });

  test('no subject at all is done at once, and by a store that answers in promises in one', async () => {
    const { limiter, store } = setUp({ a: '5/1m' });
    const remote = new RateLimiter({
      store: new FailingStore(store),
      policies: [{ name: 'a', quota: '5/1m' }],
    });
    for (const act of [
      (limiter: RateLimiter<Store>) => limiter.reset([]),
      (limiter: RateLimiter<Store>) => limiter.block([], '1h'),
      (limiter: RateLimiter<Store>) => limiter.unblock([]),
    ]) {
      expect(act(limiter)).toBeUndefined();
      expect(act(remote)).toBeInstanceOf(Promise);
      expect(await act(remote)).toBeUndefined();
    }
  });

  test('a store that names no clock, and has done its work at once, makes no promise of it', () => {
    const { store } = setUp({ a: '5/1m' });
    const clockless = {
      take: store.take.bind(store),
      refund: store.refund.bind(store),
      block: store.block.bind(store),
      reset: store.reset.bind(store),
      close: store.close.bind(store),
    };
    const policies = [{ name: 'a', quota: '5/1m' }];
    expect(new RateLimiter({ store: clockless, policies }).reset('k')).toBeUndefined();
  });

  test.each([[undefined], [[undefined]], [[{ policy: 'a' }]], [[{ key: 'k' }]], [['k']], [42]])(
    'subjects of %p are refused',
    (subjects) => {
      const { limiter } = setUp({ a: '5/1m' });
      for (const act of [
        () => limiter.reset(subjects as never),
        () => limiter.block(subjects as never, '1h'),
        () => limiter.unblock(subjects as never),
      ]) {
        expect(act).toThrow(expect.objectContaining({ name: 'FloodgateError' }));
      }
    },
  );

  test.each([0, -1, '10', 'soon', Number.NaN, null])('a block of %p is refused', (duration) => {
    const { limiter } = setUp({ a: '5/1m' });
    expect(() => limiter.block('k', duration as string)).toThrow(/^Expected `duration` to be /);
  });
});

describe('what cannot be taken is refused, and charges nothing', () => {
  test.each([
    [(limiter: RateLimiter) => limiter.take(''), 'FLOODGATE_INVALID_CHARGE'],
    [(limiter: RateLimiter) => limiter.take(undefined as never), 'FLOODGATE_INVALID_CHARGE'],
    [(limiter: RateLimiter) => limiter.take([]), 'FLOODGATE_INVALID_CHARGE'],
    [(limiter: RateLimiter) => limiter.take('k', { cost: 1.5 }), 'FLOODGATE_INVALID_CHARGE'],
    [(limiter: RateLimiter) => limiter.take('k', { cost: -1 }), 'FLOODGATE_INVALID_CHARGE'],
    [
      (limiter: RateLimiter) => limiter.take([{ policy: 'a', key: 42 as never }]),
      'FLOODGATE_INVALID_CHARGE',
    ],
    [
      (limiter: RateLimiter) =>
        limiter.take([
          { policy: 'a', key: 'k' },
          { policy: 'a', key: 'k', cost: 2 },
        ]),
      'FLOODGATE_DUPLICATE_SUBJECT',
    ],
    [
      (limiter: RateLimiter) => limiter.take([{ policy: 'a', key: 'k', quota: 'x' }]),
      'FLOODGATE_INVALID_QUOTA',
    ],
  ])('%s', (take, code) => {
    const { limiter, store } = setUp({ a: '5/1m' });
    expect(() => take(limiter)).toThrow(expect.objectContaining({ code }));
    expect(store.size).toBe(0);
  });
});

describe('an option of a call that there is not is refused, and charges nothing', () => {
  test.each<[unknown, string]>([
    [{ costs: 1 }, 'Expected `take options` to have only `cost`, got `costs`'],
    [{ cost: 1, keys: 'k' }, 'Expected `take options` to have only `cost`, got `keys`'],
    [5, 'Expected `take options` to be an object with `cost`, got `5`'],
    [[], 'Expected `take options` to be an object with `cost`, got an array'],
    [null, 'Expected `take options` to be an object with `cost`, got `null`'],
    [() => {}, 'Expected `take options` to be an object with `cost`, got a function'],
  ])('of take and peek: %p', (options, message) => {
    const { limiter, left } = setUp({ a: '5/1m' });
    const refused = expect.objectContaining({ code: 'FLOODGATE_INVALID_OPTION', message });
    for (const whose of ['k', [{ policy: 'a', key: 'k' }]]) {
      expect(() => limiter.take(whose, options as never)).toThrow(refused);
      expect(() => limiter.peek(whose, options as never)).toThrow(refused);
    }
    expect(left()).toEqual({ a: 5 });
  });

  test('one that is undefined, or that an object inherits, is none', () => {
    const { limiter } = setUp({ a: '5/1m' });
    expect(limiter.take('k', undefined).tightest.remaining).toBe(4);
    expect(limiter.take('k', { cost: undefined } as object).tightest.remaining).toBe(3);
    expect(limiter.take('k', Object.create({ costs: 2 })).tightest.remaining).toBe(2);
  });
});

test('closing a limiter closes the store that it made, and not one that it was given', () => {
  const own = new RateLimiter({ policies: [{ name: 'a', quota: '5/1m' }] });
  own.close();
  expect(() => own.take('k')).toThrow(expect.objectContaining({ code: 'FLOODGATE_STORE_CLOSED' }));
  const { limiter } = setUp({ a: '5/1m' });
  limiter.close();
  expect(limiter.take('k').allowed).toBe(true);
});

test('200 requests at once, of which 10 have room', async () => {
  const { limiter } = setUp({ a: '10/1m' });
  const verdicts = await Promise.all(Array.from({ length: 200 }, async () => limiter.take('k')));
  expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(10);
});

test('a verdict says all that it says as JSON, too', () => {
  const clock = new ManualClock(0);
  const limiter = new RateLimiter({
    store: new MemoryStore({ clock }),
    policies: [{ name: 'a', quota: 'fixed-window 2/1m' }],
  });
  expect(JSON.parse(JSON.stringify(limiter.take('k')))).toEqual({
    allowed: true,
    enforced: true,
    retryAfterMs: 0,
    delayMs: 0,
    bound: 0,
    decisions: [expect.objectContaining({ policy: 'a', key: 'k', remaining: 1 })],
  });
});
