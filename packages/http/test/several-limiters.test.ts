import { MemoryStore } from '@floodgate/core';
import { FailingStore, ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Denial, global, type HeaderFamily, HttpLimiter, type Verdict } from '../src/index.ts';
import { action, body, header, type Options } from './outcomes.ts';
import { TestView } from './request.ts';

/** The views that several limiters have of one request. */
function viewsOf(count = 2): TestView[] {
  const raw = {};
  return Array.from({ length: count }, () => new TestView({}, raw));
}

let store: MemoryStore;
let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock(Date.parse('2026-02-18T12:00:00Z'));
  store = new MemoryStore({ clock });
});

function limiterOf(options: Options): HttpLimiter {
  return new HttpLimiter({ store, ...options }) as HttpLimiter;
}

function meet(limiters: readonly HttpLimiter[]): unknown[] {
  const views = viewsOf(limiters.length);
  return limiters.map((limiter, i) => limiter.decide(views[i] as TestView));
}

function left(limiter: HttpLimiter): number[] {
  const { decisions } = limiter.peek('ip:203.0.113.7', { cost: 0 }) as Verdict;
  return decisions.map(({ remaining }) => remaining);
}

describe('a limiter that is met twice', () => {
  test('charges once, and says no more the second time', () => {
    const limiter = limiterOf({ limit: 2, window: '1m' });
    expect(meet([limiter, limiter]).map(action)).toEqual(['pass', undefined]);
    expect(left(limiter)).toEqual([1]);
    expect(meet([limiter, limiter]).map(action)).toEqual(['pass', undefined]);
    expect(meet([limiter]).map(action)).toEqual(['deny']);
  });

  test('and one that extends it charge what they share once, in either order', () => {
    const base = limiterOf({ limit: 10, window: '1m' });
    const extension = base.extend({ limit: 5, window: '1m' }, { name: 'more', replace: false });
    meet([base, extension as HttpLimiter]);
    expect(left(base)).toEqual([9, 4]);
    meet([extension as HttpLimiter, base]);
    expect(left(base)).toEqual([8, 3]);
  });

  test('asks again what did not apply the first time', () => {
    let applies = false;
    const limiter = limiterOf({
      policies: [{ name: 'a', quota: '2/1m', when: () => applies }],
    });
    const [first, second] = viewsOf();
    expect(limiter.decide(first as TestView)).toBeUndefined();
    applies = true;
    expect(action(limiter.decide(second as TestView))).toBe('pass');
  });
});

describe('two limiters with one name on one store', () => {
  const options = { name: 'a', quota: 'fixed-window 10/1m' };

  test('charge a request once', () => {
    const limiters = [limiterOf(options), limiterOf(options)];
    expect(meet(limiters).map(action)).toEqual(['pass', undefined]);
    expect(left(limiters[0] as HttpLimiter)).toEqual([9]);
  });

  test('charge it twice where they find different keys', () => {
    const limiters = [limiterOf(options), limiterOf({ ...options, key: global() })];
    expect(meet(limiters).map(action)).toEqual(['pass', 'pass']);
  });
});

describe('a later limiter that denies', () => {
  const all = { name: 'all', quota: 'fixed-window 10/1m' };
  const strict = { name: 'strict', quota: 'fixed-window 1/1m' };

  test('gives back what earlier ones took, of each kind of policy', () => {
    const first = limiterOf({ ...all, cost: 3 });
    const second = limiterOf({
      policies: [
        { name: 'watched', quota: 'token-bucket 10 1/1m', mode: 'shadow' },
        { name: 'log', quota: 'sliding-window-log 10/1m', cost: 2 },
      ],
    });
    const third = limiterOf(strict);
    expect(meet([first, second, third]).map(action)).toEqual(['pass', 'pass', 'pass']);
    expect([left(first), left(second)]).toEqual([[7], [9, 8]]);
    expect(meet([first, second, third]).map(action)).toEqual(['pass', 'pass', 'deny']);
    expect([left(first), left(second), left(third)]).toEqual([[7], [9, 8], [0]]);
  });

  test('asks each store once to give back, and once what is left', async () => {
    const calls: string[] = [];
    const watched = {
      take: async (...[charges, options]: Parameters<MemoryStore['take']>) => {
        calls.push(options?.mode ?? 'take');
        return store.take(charges, options);
      },
      refund: async (refunds: Parameters<MemoryStore['refund']>[0]) => {
        calls.push('refund');
        store.refund(refunds);
      },
      block: async () => {},
      reset: async () => {},
      close: async () => {},
    };
    const policies = ['a', 'b', 'c'].map((name) => ({ name, quota: 'fixed-window 5/1m' }));
    const first = limiterOf({ policies, store: watched });
    const [one, two] = viewsOf();
    await first.decide(one as TestView);
    const denial = await limiterOf({ ...strict, quota: '0/1m' }).decide(two as TestView);
    expect(calls).toEqual(['take', 'refund', 'peek']);
    expect((denial as Denial).verdict.decisions.map(({ remaining }) => remaining)).toEqual([
      5, 5, 5, 0,
    ]);
  });

  test('does so whatever the store, and before the request is answered', async () => {
    const remote = new FailingStore(store);
    const first = limiterOf({ ...all, store: remote });
    const second = limiterOf(strict);
    const views = [...viewsOf(), ...viewsOf()];
    for (const [index, limiter] of [first, second, first, second].entries()) {
      await limiter.decide(views[index] as TestView);
    }
    const { decisions } = await first.peek('ip:203.0.113.7', { cost: 0 });
    expect(decisions.map(({ remaining }) => remaining)).toEqual([9]);
  });

  test('says so where it could not', async () => {
    const remote = new FailingStore(store);
    const events: unknown[] = [];
    const first = limiterOf({ ...all, store: remote, onEvent: (event) => events.push(event) });
    const second = limiterOf({ ...strict, quota: '0/1m' });
    const [one, two] = viewsOf();
    await first.decide(one as TestView);
    remote.fail();
    expect(action(await second.decide(two as TestView))).toBe('deny');
    expect(events).toMatchObject([{ code: 'settle-failed' }]);
  });

  test('is told with what earlier ones have left, uncharged', () => {
    const headers: HeaderFamily = 'draft-8';
    const first = limiterOf({ ...all, headers });
    const second = limiterOf({ ...strict, headers });
    meet([first, second]);
    const [, denial] = meet([first, second]);
    expect(header(denial, 'RateLimit')).toBe('"all";r=9;t=60, "strict";r=0;t=60');
    expect(body(denial)).toMatchObject({
      error: {
        policy: 'strict',
        limits: { all: { limit: 10, remaining: 9 }, strict: { limit: 1, remaining: 0 } },
      },
    });
  });

  test('changes the headers of earlier ones, of whatever family', () => {
    const first = limiterOf({ ...all, cost: 9, headers: 'legacy' });
    const second = limiterOf({ ...strict, cost: 2, headers: 'draft-8' });
    const [pass, denial] = meet([first, second]);
    expect(header(pass, 'X-RateLimit-Remaining')).toBe('1');
    expect(header(denial, 'X-RateLimit-Remaining')).toBe('10');
    expect(header(denial, 'RateLimit')).toBe('"strict";r=1');
  });

  test('leaves what was settled by hand', () => {
    const first = limiterOf(all);
    const second = limiterOf({ ...strict, quota: '0/1m' });
    const [one, two] = viewsOf();
    const { verdict } = first.decide(one as TestView) as { verdict: Verdict };
    void verdict.settle(4);
    expect(action(second.decide(two as TestView))).toBe('deny');
    expect(left(first)).toEqual([6]);
  });
});

describe('headers of several limiters', () => {
  const few = { name: 'few', quota: 'fixed-window 4/1m' };
  const many = { name: 'many', quota: 'fixed-window 10/1h' };

  test('add up in draft 8', () => {
    const headers: HeaderFamily = 'draft-8';
    const [, last] = meet([limiterOf({ ...many, headers }), limiterOf({ ...few, headers })]);
    expect(header(last, 'RateLimit-Policy')).toBe('"many";q=10;w=3600, "few";q=4;w=60');
    expect(header(last, 'RateLimit')).toBe('"many";r=9;t=3600, "few";r=3;t=60');
  });

  test.each([
    ['an earlier one', [few, many]],
    ['a later one', [many, few]],
  ])('with room for one show the tightest, be it that of %s', (_, options) => {
    const [, last] = meet(options.map(limiterOf));
    expect(header(last, 'X-RateLimit-Limit')).toBe('4');
    expect(header(last, 'X-RateLimit-Remaining')).toBe('3');
  });

  test('show the policy that one of them names', () => {
    const [, last] = meet([limiterOf({ ...many, legacyPolicy: 'many' }), limiterOf(few)]);
    expect(header(last, 'X-RateLimit-Limit')).toBe('10');
  });

  test('tell nothing of one that tells nothing itself, or not in this family', () => {
    const silent = limiterOf({ ...few, headers: false });
    const draft = limiterOf({ name: 'draft', quota: '2/1m', headers: 'draft-8' });
    const [, , last] = meet([silent, draft, limiterOf(many)]);
    expect(header(last, 'X-RateLimit-Limit')).toBe('10');
    expect(header(last, 'RateLimit')).toBeUndefined();
  });
});

describe('the verdict on a request', () => {
  const first = { name: 'first', quota: 'fixed-window 10/1m' };
  const second = { name: 'second', quota: 'fixed-window 1/1m' };

  test('covers all limiters that met it', () => {
    const [, outcome] = meet([limiterOf(first), limiterOf(second)]);
    const { verdict } = outcome as Denial;
    expect(verdict.allowed).toBe(true);
    expect(verdict.decisions.map(({ policy }) => policy)).toEqual(['first', 'second']);
    expect(verdict.tightest.policy).toBe('second');
    expect(verdict.decision('first')?.remaining).toBe(9);
    expect([verdict.enforced, verdict.bound, verdict.degraded]).toEqual([true, 0, undefined]);
  });

  test('is denied where one of them denied', () => {
    const limiters = [limiterOf(first), limiterOf(second)];
    meet(limiters);
    const [, outcome] = meet(limiters);
    const { verdict } = outcome as Denial;
    expect([verdict.allowed, verdict.retryAfterMs]).toEqual([false, 60_000]);
    expect(verdict.decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 9],
      [false, 0],
    ]);
  });

  test('settles each of them', () => {
    const limiters = [limiterOf(first), limiterOf({ ...second, quota: '5/1m' })];
    const { verdict } = meet(limiters)[1] as Denial;
    void verdict.settle({ first: 4 });
    void verdict.settle({ first: 9, second: 3 });
    expect(limiters.map(left)).toEqual([[6], [2]]);
    expect(() => verdict.settle({ third: 1 })).toThrow(/first.*second.*third/);
    const { verdict: another } = meet(limiters)[1] as Denial;
    void another.settle(2);
    expect(limiters.map(left)).toEqual([[4], [0]]);
  });

  test('settles once, also by the verdict of one of them', () => {
    const verdicts: Verdict[] = [];
    const onVerdict = (verdict: Verdict): unknown => verdicts.push(verdict);
    const limiters = [limiterOf({ ...first, onVerdict } as Options), limiterOf(second)];
    const { verdict } = meet(limiters)[1] as Denial;
    void verdicts[0]?.settle(3);
    void verdict.settle(7);
    expect(limiters.map(left)).toEqual([[7], [0]]);
  });

  test('tells of a store that failed for one of them', async () => {
    const remote = new FailingStore(new MemoryStore());
    remote.fail();
    const [one, two] = viewsOf();
    await limiterOf(first).decide(one as TestView);
    const failing = limiterOf({ ...second, store: remote, onEvent: () => {} });
    const { verdict } = (await failing.decide(two as TestView)) as Denial;
    expect(verdict.degraded).toMatchObject({ rule: 'local', rules: [undefined, 'local'] });
    expect(verdict.decisions.map(({ degraded }) => degraded)).toEqual([undefined, 'local']);
  });
});

describe('a name on a store', () => {
  test('that nobody gave is for one limiter', () => {
    limiterOf({ limit: 5, window: '1m' });
    expect(() => limiterOf({ limit: 5, window: '1m' })).toThrow(
      /Expected a `name`.*`default`.*same limiter/,
    );
    expect(() => limiterOf({ name: 'default', limit: 5, window: '1m' })).toThrow(/`default`/);
    expect(() => limiterOf({ name: 'other', limit: 5, window: '1m' })).not.toThrow();
  });

  test.each<[string, Options, Options]>([
    ['a limit', { name: 'a', limit: 5, window: '1m' }, { name: 'a', limit: 6, window: '1m' }],
    ['a window', { name: 'a', limit: 5, window: '1m' }, { name: 'a', limit: 5, window: '2m' }],
    ['an algorithm', { name: 'a', quota: '5/1m' }, { name: 'a', quota: 'fixed-window 5/1m' }],
    ['a block', { name: 'a', quota: '5/1m' }, { name: 'a', quota: '5/1m block=1h' }],
    ['a function', { name: 'a', quota: () => '5/1m' }, { name: 'a', quota: () => '5/1m' }],
    [
      'a plan',
      { plans: { free: { a: '5/1m' } }, plan: () => 'free' },
      { plans: { free: { a: '6/1m' } }, plan: () => 'free' },
    ],
  ])('has one quota: another one differs in %s', (_, first, second) => {
    limiterOf(first);
    expect(() => limiterOf(second)).toThrow(/`name`.*other quotas on the same store.*"a"/);
  });

  test('is shared by those who mean the same', () => {
    const quota = (): string => '5/1m';
    const limit = (): number => 5;
    const plans = { free: { c: '5/1m' } };
    for (let i = 0; i < 2; i += 1) {
      limiterOf({ policies: [{ name: 'a', quota }] });
      limiterOf({ name: 'b', limit, window: '1m' });
      limiterOf({ plans, plan: () => 'free' });
    }
  });

  test('is settled by all of its limiters, or by none', () => {
    limiterOf({ name: 'a', quota: '5/1m', settle: () => 1 });
    limiterOf({ name: 'a', quota: '5/1m', settle: () => 2 });
    expect(() => limiterOf({ name: 'a', quota: '5/1m' })).toThrow(/`name`.*settled.*"a"/);
  });

  test('is another one on another store', () => {
    for (let i = 0; i < 2; i += 1) {
      const own = new MemoryStore();
      expect(() => limiterOf({ limit: 5, window: '1m', store: own })).not.toThrow();
      expect(() => new HttpLimiter({ limit: 5, window: '1m' })).not.toThrow();
    }
  });

  test('has one rule for a store that fails, in a limiter and all that extend it', () => {
    const base = limiterOf({ name: 'base', quota: '5/1m' });
    const extend = (onStoreError: 'allow' | 'deny', quota = '5/1m'): unknown =>
      base.extend({ quota, name: 'n', onStoreError }, { name: '', replace: false });
    extend('deny');
    expect(() => extend('allow')).toThrow(/`name`.*another `onStoreError`.*"n"/);
    expect(() => extend('allow', '6/1m')).toThrow(/other quotas/);
    expect(() => extend('deny')).not.toThrow();
  });

  test('may be that of what it replaces', () => {
    const base = limiterOf({ name: 'api', quota: 'fixed-window 5/1m' });
    const options = { name: 'api', quota: 'fixed-window 5/1m', cost: 3 };
    const route = base.extend(options, { name: '', replace: true }) as HttpLimiter;
    expect(meet([route]).map(action)).toEqual(['pass']);
    expect(left(base)).toEqual([2]);
  });

  test('is free again when its limiter is closed, or was never made', () => {
    expect(() =>
      limiterOf({ name: 'a', quota: '5/1m', onStoreError: 'shrug' as 'deny' }),
    ).toThrow();
    limiterOf({ name: 'a', quota: '5/1m' });
    const policies = [
      { name: 'b', quota: '5/1m' },
      { name: 'a', quota: '6/1m' },
    ];
    expect(() => limiterOf({ policies })).toThrow(/"a"/);
    const limiter = limiterOf({ name: 'b', quota: '7/1m' });
    limiter.extend({ quota: '8/1m' }, { name: 'c', replace: false });
    limiter.close();
    limiterOf({ name: 'b', quota: '9/1m' });
    limiterOf({ name: 'c', quota: '9/1m' });
  });
});

describe('who only watches', () => {
  const options = { name: 'a', quota: 'fixed-window 2/1m' };

  test('has not decided for who enforces, and what it took is given back to that', () => {
    const watching = limiterOf({ ...options, mode: 'shadow' });
    const enforcing = limiterOf(options);
    const outcomes = [1, 2, 3].map(() => meet([watching, enforcing]).map(action));
    expect(outcomes).toEqual([
      ['pass', 'pass'],
      ['pass', 'pass'],
      ['pass', 'deny'],
    ]);
    expect(left(enforcing)).toEqual([0]);
  });

  test('asks no more where another has decided in earnest', () => {
    const watching = limiterOf({ ...options, mode: 'shadow' });
    const enforcing = limiterOf(options);
    expect(meet([enforcing, watching]).map(action)).toEqual(['pass', undefined]);
    expect(left(enforcing)).toEqual([1]);
  });

  test('may be one limiter, by a mode that depends on where it is met', () => {
    let mode: 'shadow' | 'enforce' = 'shadow';
    const limiter = limiterOf({ ...options, quota: 'fixed-window 1/1m', mode: () => mode });
    const decide = (views: TestView[]): unknown[] =>
      (['shadow', 'enforce'] as const).map((next, i) => {
        mode = next;
        return action(limiter.decide(views[i] as TestView));
      });
    expect(decide(viewsOf())).toEqual(['pass', 'pass']);
    expect(decide(viewsOf())).toEqual(['pass', 'deny']);
  });

  test('does not change what another has told', () => {
    const first = limiterOf({ ...options, legacyPolicy: 'a' });
    const watching = limiterOf({
      name: 'b',
      quota: '0/1m',
      mode: 'shadow',
      legacyPolicy: 'b',
      exposeHeaders: true,
    });
    const third = limiterOf({ name: 'c', quota: '1/1m' });
    const [, second, last] = meet([first, watching, third]);
    expect(second).toMatchObject({ action: 'pass', headers: [] });
    expect(header(last, 'X-RateLimit-Limit')).toBe('2');
  });
});

describe('policies of one name that count apart', () => {
  test('are warned of, once', () => {
    const events: unknown[] = [];
    const first = new HttpLimiter({ limit: 5, window: '1m' });
    const second = new HttpLimiter({
      limit: 5,
      window: '1m',
      onEvent: (event) => events.push(event),
    });
    meet([first, second] as HttpLimiter[]);
    meet([first, second] as HttpLimiter[]);
    expect(events).toMatchObject([
      { code: 'warning', reason: 'same-name', message: expect.stringContaining('`default`') },
    ]);
  });
});

describe('a name that a request meets at several costs', () => {
  test('comes to no more with each limiter, and is settled once, for all of it', async () => {
    const told: number[] = [];
    const settle = (_end: unknown, _request: unknown, reserved: number): number => {
      told.push(reserved);
      return reserved + 2;
    };
    const make = (cost: number): HttpLimiter =>
      limiterOf({ name: 'a', quota: 'fixed-window 20/1m', cost, settle, headers: 'draft-8' });
    const limiters = [make(1), make(10), make(10)];
    const views = viewsOf(3);
    const outcomes = limiters.map((limiter, i) => limiter.decide(views[i] as TestView));
    expect(outcomes.map(action)).toEqual(['pass', 'pass', undefined]);
    expect(header(outcomes[1], 'RateLimit')).toBe('"a";r=10;t=60');
    expect(left(limiters[0] as HttpLimiter)).toEqual([10]);
    for (const view of views) view.close();
    await new Promise(setImmediate);
    expect([told, left(limiters[0] as HttpLimiter)]).toEqual([[10], [8]]);
  });

  test('is settled by hand once', () => {
    const limiters = [1, 3].map((cost) =>
      limiterOf({ name: 'a', quota: 'fixed-window 20/1m', cost }),
    );
    const { verdict } = meet(limiters)[1] as Denial;
    void verdict.settle({ a: 5 });
    expect(left(limiters[0] as HttpLimiter)).toEqual([15]);
  });

  test('is told a wait that is true for all of it', () => {
    const limiters = [1, 3].map((cost) =>
      limiterOf({ name: 'a', quota: 'sliding-window-log 2/1m', cost }),
    );
    const denial = meet(limiters)[1] as Denial;
    expect([action(denial), header(denial, 'Retry-After')]).toEqual(['deny', undefined]);
    expect(left(limiters[0] as HttpLimiter)).toEqual([2]);
  });

  test('is what is enforced, whatever who only watches would charge', () => {
    const enforcing = limiterOf({ name: 'a', quota: 'fixed-window 20/1m' });
    const watching = limiterOf({ name: 'a', quota: 'fixed-window 20/1m', cost: 9, mode: 'shadow' });
    expect(meet([watching, enforcing, watching]).map(action)).toEqual(['pass', 'pass', undefined]);
    expect(left(enforcing)).toEqual([19]);
  });

  test('is charged where nothing was, since its store failed', async () => {
    const failing = new FailingStore(store);
    failing.fail();
    const options = { name: 'a', quota: '5/1m', store: failing, onEvent: () => {} };
    const views = viewsOf();
    const allow = limiterOf({ ...options, onStoreError: 'allow' });
    expect(action(await allow.decide(views[0] as TestView))).toBe('pass');
    const deny = limiterOf({ ...options, onStoreError: 'deny' });
    expect(action(await deny.decide(views[1] as TestView))).toBe('deny');
  });

  test('is charged the largest', () => {
    const cheap = limiterOf({ name: 'a', quota: 'fixed-window 20/1m' });
    const dear = limiterOf({ name: 'a', quota: 'fixed-window 20/1m', cost: 10 });
    expect(meet([cheap, dear]).map(action)).toEqual(['pass', 'pass']);
    expect(left(cheap)).toEqual([10]);
    expect(meet([dear, cheap]).map(action)).toEqual(['pass', undefined]);
    expect(left(cheap)).toEqual([0]);
    expect(meet([cheap]).map(action)).toEqual(['deny']);
  });
});

describe('a later limiter that cannot decide', () => {
  test('leaves the truth on what earlier ones have left', async () => {
    const first = limiterOf({ name: 'all', quota: 'fixed-window 5/1m' });
    const failing = new FailingStore(new MemoryStore({ clock }));
    failing.fail();
    const options = { name: 'b', quota: '5/1m', store: failing, onStoreError: 'deny' } as const;
    const second = limiterOf({ ...options, onEvent: () => {} });
    const [one, two] = viewsOf();
    void first.decide(one as TestView);
    const denial = await second.decide(two as TestView);
    expect(denial).toMatchObject({ status: 503 });
    expect(header(denial, 'X-RateLimit-Remaining')).toBe('5');
  });
});

describe('header families that share names', () => {
  test('are those of the later limiter, and nothing is left of the others', () => {
    const first = limiterOf({ name: 'a', quota: '5/1m', headers: 'draft-8' });
    const second = limiterOf({ name: 'b', quota: '5/1m', headers: ['legacy', 'draft-6'] });
    const [, pass] = meet([first, second]);
    expect(pass).toMatchObject({ action: 'pass', removed: ['RateLimit'] });
  });

  test('are told as the limiter that denies tells them', () => {
    const first = limiterOf({ name: 'a', quota: '5/1m', headers: ['legacy', 'draft-8'] });
    const second = limiterOf({ name: 'b', quota: '0/1m', headers: 'draft-7' });
    const { headers } = meet([first, second])[1] as Denial;
    expect(headers.map(([name]) => name)).toEqual([
      'RateLimit',
      'RateLimit-Policy',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'Cache-Control',
    ]);
    expect(header({ headers }, 'RateLimit-Policy')).toBe('0;w=60');
  });

  test('of a denial say no reset where no wait helps, though an earlier limiter said one', () => {
    const first = limiterOf({ name: 'a', quota: '5/1m' });
    const second = limiterOf({ name: 'b', quota: '5/1m', cost: 6 });
    const { headers, removed } = meet([first, second])[1] as Denial;
    expect(header({ headers }, 'X-RateLimit-Reset')).toBeUndefined();
    expect(removed).toEqual(['X-RateLimit-Reset']);
  });
});
