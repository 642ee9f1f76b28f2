import { MemoryStore } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  byIp,
  byUser,
  combine,
  type FloodgateEvent,
  fixedWindow,
  global,
  HttpLimiter,
  keys,
  tier,
  type Verdict,
} from '../src/index.ts';
import { action, body, costs, inTurn, type Options } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

const plans = {
  free: { perMinute: 'fixed-window 10/1m', perDay: 'fixed-window 15/1d' },
  pro: { perMinute: 'fixed-window 100/1m' },
  unlimited: {},
};

let store: MemoryStore;
let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock(Date.parse('2026-02-18T12:00:00Z'));
  store = new MemoryStore({ clock });
});

function limiterOf(options: object = {}): HttpLimiter<TestRequest> {
  const key = byUser((request: TestRequest) => request.user);
  return new HttpLimiter<TestRequest>({
    store,
    key,
    plans,
    plan: () => 'free',
    ...options,
  } as Options);
}

function decide(limiter: HttpLimiter<TestRequest>, user = 1): unknown {
  return limiter.decide(new TestView({ user }));
}

describe('the quotas of a plan', () => {
  test('are met in one step, in the same turn: what one denies uses nothing of the other', () => {
    const limiter = limiterOf();
    for (let i = 0; i < 10; i += 1) expect(action(decide(limiter))).toBe('pass');
    expect(action(decide(limiter))).toBe('deny');
    clock.advance(60_000);
    for (let i = 0; i < 5; i += 1) expect(action(decide(limiter))).toBe('pass');
    const denial = decide(limiter) as { verdict: Verdict };
    expect(denial.verdict.decisions.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['perMinute', 5],
      ['perDay', 0],
    ]);
  });

  test('are met with those of `policies`, which hold whatever the plan', () => {
    const policies = [{ name: 'ceiling', quota: '3/1m', key: global() }];
    const limiter = limiterOf({
      policies,
      plan: ({ user }: TestRequest) => (user === 1 ? 'free' : 'unlimited'),
    });
    expect(costs(decide(limiter))).toEqual({ perMinute: 1, perDay: 1, ceiling: 1 });
    expect(costs(decide(limiter, 2))).toEqual({ ceiling: 1 });
    expect([decide(limiter, 2), decide(limiter, 2)].map(action)).toEqual(['pass', 'deny']);
    const { decisions } = limiter.peek(keys.user(1), { plan: 'free', cost: 0 }) as Verdict;
    expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 14]);
  });

  test('limit nothing where the plan has none', () => {
    const limiter = limiterOf({ plan: () => 'unlimited' });
    expect(decide(limiter)).toBeUndefined();
    expect(store.size).toBe(0);
  });

  test('share cost, key, mode and settling with one another', async () => {
    const modes = { 1: 'enforce', 2: 'shadow', 3: 'off' } as Record<string, string>;
    const limiter = limiterOf({
      cost: 4,
      settle: () => 1,
      mode: ({ user }: TestRequest) => modes[String(user)],
    });
    const view = new TestView({ user: 1 });
    expect(costs(limiter.decide(view))).toEqual({ perMinute: 4, perDay: 4 });
    view.close();
    await inTurn(undefined)();
    const { decisions } = limiter.peek(keys.user(1), { plan: 'free', cost: 0 }) as Verdict;
    expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 14]);
    for (let i = 0; i < 9; i += 1)
      expect(decide(limiter, 2)).toMatchObject({ action: 'pass', headers: [] });
    expect(decide(limiter, 3)).toBeUndefined();
  });
});

describe('a change of plan', () => {
  test('counts at once, and keeps what was used', () => {
    let plan = 'free';
    const limiter = limiterOf({ plan: () => plan });
    for (let i = 0; i < 10; i += 1) decide(limiter);
    expect(action(decide(limiter))).toBe('deny');
    plan = 'pro';
    const left = limiter.peek(keys.user(1), { plan, cost: 0 }) as Verdict;
    expect(left.decision('perMinute')).toMatchObject({ limit: 100, remaining: 90 });
    expect(action(decide(limiter))).toBe('pass');
    plan = 'free';
    expect(action(decide(limiter))).toBe('deny');
  });

  test('to another algorithm or window keeps it as units used now', () => {
    let plan = 'a';
    const limiter = limiterOf({
      plans: { a: { q: 'fixed-window 10/1m' }, b: { q: 'token-bucket 20 1/1s' } },
      plan: () => plan,
    });
    for (let i = 0; i < 10; i += 1) decide(limiter);
    plan = 'b';
    expect((decide(limiter) as { verdict: Verdict }).verdict.tightest.remaining).toBe(9);
  });
});

describe('the body of a denial', () => {
  const plans = { free: { perMinute: '0/1m' }, pro: { perMinute: '0/1m', perDay: '5/1d' } };
  const upgradeUrl = 'https://api.example.com/pricing';

  test('tells the plan, and where to get a larger one', () => {
    const limiter = limiterOf({ plans, upgradeUrl });
    expect(JSON.stringify(body(decide(limiter)))).toMatch(
      /"policy":"perMinute","plan":"free","upgradeUrl":"https:\/\/api\.example\.com\/pricing"}}$/,
    );
  });

  test('tells all limits of the plan, before it', () => {
    const limiter = limiterOf({ plans, plan: () => 'pro', upgradeUrl });
    const text = JSON.stringify(body(decide(limiter)));
    expect(text).toContain(
      '"limits":{"perMinute":{"limit":0,"remaining":0},"perDay":{"limit":5,"remaining":5}},"plan":"pro","upgradeUrl"',
    );
  });

  test.each<[string, unknown, string | undefined]>([
    ['a function', (_: TestRequest, plan: string) => `/upgrade/${plan}`, '/upgrade/free'],
    ['a function that answers in a promise', async () => '/upgrade', '/upgrade'],
    ['a function that knows none', () => undefined, undefined],
    ['nothing', undefined, undefined],
  ])('has the link that %s answers', async (_, upgradeUrl, expected) => {
    const limiter = limiterOf({ plans, upgradeUrl });
    const { error } = (await body(await decide(limiter))) as { error: Record<string, unknown> };
    expect([error.plan, error.upgradeUrl]).toEqual(['free', expected]);
  });

  test('may be your own, and hooks are told the plan as well', () => {
    const plansSeen: unknown[] = [];
    const see = (_verdict: Verdict, _request: TestRequest, plan: unknown): string => {
      plansSeen.push(plan);
      return 'No';
    };
    decide(limiterOf({ plans, onVerdict: see, body: see }));
    decide(limiterOf({ plans, onVerdict: see, message: see, store: new MemoryStore() }));
    expect(plansSeen).toEqual(['free', 'free', 'free', 'free']);
    decide(limiterOf({ plans, onVerdict: see, mode: 'shadow', store: new MemoryStore() }));
    expect(plansSeen).toHaveLength(5);
    expect(plansSeen.at(-1)).toBe('free');
  });

  test('is an error where the link is no text', () => {
    const limiter = limiterOf({ plans, upgradeUrl: () => 42 });
    expect(() => decide(limiter)).toThrow(/`upgradeUrl`.*text, got `42`/);
  });

  test('tells the plan also where something else denied, and not where nobody is to know', () => {
    const policies = [{ name: 'ceiling', quota: '0/1m' }];
    const error = (limiter: HttpLimiter<TestRequest>): unknown =>
      (body(decide(limiter)) as { error: unknown }).error;
    const limiter = limiterOf({ policies, upgradeUrl, store: new MemoryStore() });
    expect(error(limiter)).toMatchObject({ policy: 'ceiling', plan: 'free' });
    expect(error(limiter)).not.toHaveProperty('upgradeUrl');
    const mode = 'shadow';
    const watched = limiterOf({
      store: new MemoryStore(),
      mode,
      policies: [{ ...policies[0], mode: 'enforce' }],
    });
    expect(error(watched)).not.toHaveProperty('plan');
  });
});

describe('the look-up of a plan', () => {
  test('is one for all requests of a key while it is under way', async () => {
    const plan = jest.fn(inTurn('free'));
    const limiter = limiterOf({ plan });
    const all = [1, 1, 2, 1].map((user) => decide(limiter, user));
    expect(plan).toHaveBeenCalledTimes(2);
    expect((await Promise.all(all)).map(action)).toEqual(['pass', 'pass', 'pass', 'pass']);
    await decide(limiter);
    expect(plan).toHaveBeenCalledTimes(3);
  });

  test('is not waited for by later requests where it takes too long', async () => {
    const plan = jest.fn(inTurn('free')).mockReturnValueOnce(new Promise(() => {}));
    const limiter = limiterOf({ plan });
    void decide(limiter);
    clock.advance(999);
    void decide(limiter);
    expect(plan).toHaveBeenCalledTimes(1);
    clock.advance(1);
    const later = [decide(limiter), decide(limiter)];
    expect((await Promise.all(later)).map(action)).toEqual(['pass', 'pass']);
    expect(plan).toHaveBeenCalledTimes(2);
  });

  test.each<[string, object]>([
    ['an address', { key: byIp() }],
    ['an address and more', { key: combine(byIp(), () => 'GET /') }],
    ['a text of their own', { key: () => 'everybody' }],
  ])('is not shared by those of one key that is %s, who may be many', async (_, key) => {
    const plan = jest.fn(async ({ user }: TestRequest) => (user === 1 ? 'free' : 'pro'));
    const limiter = limiterOf({ plan, ...key });
    const outcomes = await Promise.all([decide(limiter, 1), decide(limiter, 2)]);
    const limits = outcomes.map(
      (one) => (one as { verdict: Verdict }).verdict.decision('perMinute')?.limit,
    );
    expect(limits).toEqual([10, 100]);
  });

  test('is made once where a query is sent each time that somebody waits for it', async () => {
    let sent = 0;
    const plan = (): PromiseLike<string> => ({
      // biome-ignore lint/suspicious/noThenProperty: that is what such queries are
      then: (resolve) => {
        sent += 1;
        return Promise.resolve('free').then(resolve);
      },
    });
    const limiter = limiterOf({ plan });
    await Promise.all([decide(limiter), decide(limiter), decide(limiter)]);
    expect(sent).toBe(1);
  });

  test('that fails is not kept', async () => {
    const plan = jest.fn(inTurn('free')).mockRejectedValueOnce(new Error('No database'));
    const limiter = limiterOf({ plan });
    const failing = [decide(limiter), decide(limiter)];
    for (const one of failing) await expect(one).rejects.toThrow('No database');
    expect(action(await decide(limiter))).toBe('pass');
    expect(plan).toHaveBeenCalledTimes(2);
  });

  test('is made once for a request, and not for one that is not limited', () => {
    const plan = jest.fn(() => 'free');
    const limiter = limiterOf({ plan, skip: ({ user }: TestRequest) => user === 2 });
    decide(limiter);
    decide(limiter, 2);
    expect(plan).toHaveBeenCalledTimes(1);
  });

  describe('without a default', () => {
    test.each([
      ['nothing', undefined, /found none: give it a `defaultPlan`/],
      ['null', null, /found none/],
      ['a name that is none', 'gold', /one of `free`, `pro`, `unlimited`.*got `gold`/],
      ['a name that all objects have', 'constructor', /got `constructor`/],
      ['something else', 42, /got number/],
    ])('that finds %s is an error', (_, answer, message) => {
      const limiter = limiterOf({ plan: () => answer });
      const error = expect.objectContaining({
        code: 'FLOODGATE_UNKNOWN_PLAN',
        message: expect.stringMatching(message),
      });
      expect(() => decide(limiter)).toThrow(error);
    });

    test('that throws fails the request', () => {
      const failure = new Error('No database');
      const limiter = limiterOf({
        plan: () => {
          throw failure;
        },
      });
      expect(() => decide(limiter)).toThrow(failure);
    });

    test('fails no request in shadow mode, and is told once', () => {
      const onEvent = jest.fn();
      const limiter = limiterOf({ plan: () => 'gold', mode: 'shadow', onEvent });
      expect([decide(limiter), decide(limiter)]).toEqual([undefined, undefined]);
      expect(onEvent.mock.calls.length).toBe(2);
    });
  });

  describe('with a default', () => {
    const found = (outcome: unknown): unknown =>
      (outcome as { verdict: Verdict }).verdict.decision('perMinute')?.limit;

    test.each([undefined, null])(
      'comes to it for an answer of %p, which is nothing new',
      (answer) => {
        const onEvent = jest.fn();
        const limiter = limiterOf({ plan: () => answer, defaultPlan: 'free', onEvent });
        expect(found(decide(limiter))).toBe(10);
        expect(onEvent).not.toHaveBeenCalled();
      },
    );

    test('comes to it for an unknown name, which is told once', () => {
      const events: FloodgateEvent[] = [];
      const onEvent = (event: FloodgateEvent): unknown => events.push(event);
      const plan = ({ user }: TestRequest): string => (user === 1 ? 'gold' : 'silver');
      const limiter = limiterOf({ plan, defaultPlan: 'free', onEvent });
      for (const user of [1, 2, 1, 2]) expect(found(decide(limiter, user))).toBe(10);
      expect(events).toMatchObject([
        { code: 'warning', reason: 'unknown-plan', message: expect.stringContaining('`gold`') },
        { code: 'warning', reason: 'unknown-plan', message: expect.stringContaining('`silver`') },
      ]);
    });

    test('tells of no more than a hundred unknown names', () => {
      const onEvent = jest.fn();
      const plan = ({ user }: TestRequest): string => `plan of ${user}`;
      const limiter = limiterOf({ plan, defaultPlan: 'free', onEvent });
      for (let user = 1; user < 500; user += 1) decide(limiter, user);
      expect(onEvent.mock.calls.length).toBeLessThanOrEqual(101);
    });

    test('comes to it while it fails, which is told once a minute', async () => {
      const events: FloodgateEvent[] = [];
      let isFailing = true;
      const limiter = limiterOf({
        plan: async () => (isFailing ? Promise.reject(new Error('No database')) : 'pro'),
        defaultPlan: 'free',
        onEvent: (event: FloodgateEvent) => events.push(event),
      });
      for (const [failing, limit, laterMs] of [
        [true, 10, 0],
        [false, 100, 0],
        [true, 10, 59_999],
        [true, 10, 1],
      ] as const) {
        isFailing = failing;
        clock.advance(laterMs);
        expect(found(await decide(limiter))).toBe(limit);
      }
      const told = { code: 'warning', reason: 'plan-failed', error: expect.any(Error) };
      expect(events).toMatchObject([told, told]);
    });
  });
});

describe('the handle', () => {
  test('peeks by the plan that it is told', () => {
    const limiter = limiterOf();
    decide(limiter);
    const peek = (plan: string): unknown =>
      (limiter.peek(keys.user(1), { plan, cost: 0 }) as Verdict).decisions.map(
        ({ policy, limit, remaining }) => [policy, limit, remaining],
      );
    expect(peek('free')).toEqual([
      ['perMinute', 10, 9],
      ['perDay', 15, 14],
    ]);
    expect(peek('pro')).toEqual([['perMinute', 100, 99]]);
  });

  test.each([
    [
      undefined,
      /`plan` to be one of the plans to peek by \(free, pro, unlimited\), got `undefined`/,
    ],
    [{ plan: 'gold' }, /got `"gold"`/],
    [{ plan: 'unlimited' }, /`plan` to be a plan that has limits/],
    [{ plans: 'pro' }, /`plans`/],
  ])('does not guess one (%j)', (options, message) => {
    expect(() => limiterOf().peek(keys.user(1), options as never)).toThrow(message);
  });

  test('blocks and resets whatever the plan', () => {
    const limiter = limiterOf();
    decide(limiter);
    void limiter.block(keys.user(1), '1h');
    expect(action(decide(limiter))).toBe('deny');
    void limiter.reset(keys.user(1));
    expect(action(decide(limiter))).toBe('pass');
  });
});

describe('a tier', () => {
  test('is the quotas of a plan by three numbers', () => {
    expect(tier({ requestsPerMinute: 60, requestsPerDay: 1000, burstSize: 10 })).toEqual({
      perMinute: { algorithm: 'sliding-window-counter', limit: 60, windowMs: 60_000 },
      perDay: { algorithm: 'sliding-window-counter', limit: 1000, windowMs: 86_400_000 },
      burst: { algorithm: 'token-bucket', capacity: 10, refillRate: 60, intervalMs: 60_000 },
    });
  });

  test.each([
    [
      { requestsPerMinute: 60, requestsPerDay: 1000 },
      /`burstSize` to be a whole number, 1 or more/,
    ],
    [{ requestsPerMinute: 0, requestsPerDay: 1000, burstSize: 1 }, /`requestsPerMinute`/],
    [{ requestsPerMinute: 1, requestsPerDay: '1000', burstSize: 1 }, /`requestsPerDay`.*"1000"/],
    [{ requestsPerMinute: 1, requestsPerDay: 1, burstSize: 1, perHour: 2 }, /`perHour`/],
    [undefined, /tier options/],
  ])('is refused where one is wrong (%j)', (options, message) => {
    expect(() => tier(options as never)).toThrow(message);
  });
});

describe('options that are wrong are refused when the limiter is made', () => {
  const quota = fixedWindow({ limit: 1, window: '1m' });
  test.each<[string, object, RegExp]>([
    ['plans without `plan`', { plan: undefined }, /`plan` to be a function/],
    ['a plan that is no function', { plan: 'free' }, /`plan` to be a function.*got `"free"`/],
    [
      'a default that is none',
      { defaultPlan: 'gold' },
      /`defaultPlan` to be one of the plans \(free, pro, unlimited\), got `"gold"`/,
    ],
    ['a default by a name of all objects', { defaultPlan: 'constructor' }, /`defaultPlan`/],
    ['an empty link', { upgradeUrl: '' }, /`upgradeUrl`/],
    ['a link that is none', { upgradeUrl: 42 }, /`upgradeUrl`.*got `42`/],
    ['no plans', { plans: {} }, /`plans` to be an object of at least one plan/],
    ['a list of plans', { plans: [plans.free] }, /`plans` to be an object/],
    ['a plan that is none', { plans: { free: 'free' } }, /`plans.free` to be an object of quotas/],
    ['a plan that is a quota', { plans: { free: quota } }, /`plans.free.algorithm`/],
    ['a quota that is none', { plans: { free: { perMinute: '10' } } }, /`plans.free.perMinute`/],
    [
      'a quota without a name',
      { plans: { free: { '': quota } } },
      /`plans.free` to be quotas with a name/,
    ],
    ['a plan without a name', { plans: { '': { a: quota } } }, /`plans` to be plans with a name/],
    [
      'quotas whose names differ in case',
      { plans: { free: { perDay: quota }, pro: { perday: quota } } },
      /`plans` to be different from all others, in more than case, got `"perday"`/,
    ],
    [
      'a policy beside that is called like a quota',
      { policies: [{ name: 'PerDay', quota }] },
      /`name` to be different from all others/,
    ],
    ['a limit beside', { limit: 5, window: '1m' }, /only one of `limit` and `plans`, got both/],
    ['a quota beside', { quota }, /only one of `quota` and `plans`/],
    ['a name beside', { name: 'all' }, /no `name` beside `plans`/],
    ['a window beside', { window: '1m' }, /no `window` beside `plans`/],
    ['`plan` alone', { plans: undefined, quota }, /no `plan` without `plans`/],
    [
      'an `upgradeUrl` alone',
      { plans: undefined, plan: undefined, quota, upgradeUrl: '/' },
      /no `upgradeUrl` without `plans`/,
    ],
  ])('%s', (_, options, message) => {
    expect(() => limiterOf(options)).toThrow(message);
  });
});
