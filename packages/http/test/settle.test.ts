import { MemoryStore } from '@floodgate/core';
import { FailingStore, ManualClock } from '@floodgate/core/testing';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type FloodgateEvent,
  HttpLimiter,
  onlyFailures,
  onlySuccesses,
  type ResponseEnd,
  type SettleFunction,
  type Verdict,
} from '../src/index.ts';
import { action, inTurn, type Options } from './outcomes.ts';
import { type TestRequest, TestView } from './request.ts';

const KEY = 'ip:203.0.113.7';
const MINUTE_MS = 60_000;

let clock: ManualClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new ManualClock();
  store = new MemoryStore({ clock });
});

function limiterOf(options: Options): HttpLimiter<TestRequest> {
  return new HttpLimiter<TestRequest>({ store, ...options });
}

function left(limiter: HttpLimiter<TestRequest>): number[] {
  const { decisions } = limiter.peek(KEY, { cost: 0 }) as Verdict;
  return decisions.map(({ remaining }) => remaining);
}

/** Ends the response, and waits until all that this causes is done. */
async function end(view: TestView, how: Partial<ResponseEnd> = {}): Promise<void> {
  view.responseEnd = { status: 200, completed: true, ...how };
  view.close();
  await inTurn(undefined)();
}

const ABORTED: ResponseEnd = { status: 499, completed: false };

describe('a true cost', () => {
  test.each<[string, number | Promise<number>]>([
    ['at once', 2],
    ['in a promise', Promise.resolve(2)],
  ])(
    'is asked for once the response has ended, and replaces what was reserved (%s)',
    async (_, answer) => {
      const settle = jest.fn<SettleFunction<TestRequest>>(() => answer);
      const limiter = limiterOf({ quota: 'fixed-window 10/1m', cost: 5, settle });
      const view = new TestView();
      expect(action(limiter.decide(view))).toBe('pass');
      expect([left(limiter), settle.mock.calls]).toEqual([[5], []]);
      await end(view, { status: 201 });
      expect(settle.mock.calls).toEqual([[{ status: 201, completed: true }, view.request, 5]]);
      expect([left(limiter), view.listeners]).toEqual([[8], 0]);
    },
  );

  test('may be more than there is, and is owed', async () => {
    const limiter = limiterOf({ quota: 'token-bucket 10 1/1s', settle: () => 25 });
    const view = new TestView();
    void limiter.decide(view);
    await end(view);
    expect(limiter.peek(KEY)).toMatchObject({ retryAfterMs: 16_000 });
  });

  test('is of one policy, and those beside it have their own or none', async () => {
    const limiter = limiterOf({
      settle: () => 0,
      policies: [
        { name: 'a', quota: '10/1m', settle: () => 3 },
        { name: 'b', quota: '10/1m' },
      ],
    });
    const plain = limiterOf({ name: 'c', quota: '10/1m' });
    const [view, another] = [new TestView(), new TestView()];
    void limiter.decide(view);
    void plain.decide(another);
    expect(another.listeners).toBe(0);
    await end(view);
    await end(another, ABORTED);
    expect([left(limiter), left(plain)]).toEqual([[7, 10], [9]]);
  });

  test('is settled of a client that has gone before the limiter decided, and its request goes no further', async () => {
    const settle = jest.fn(() => 0);
    const limiter = limiterOf({ quota: '10/1m', settle });
    const view = new TestView();
    await end(view, ABORTED);
    expect(limiter.decide(view)).toEqual({ action: 'drop' });
    await inTurn(undefined)();
    expect([settle.mock.calls.length, left(limiter)]).toEqual([1, [10]]);
    // Who only watches stops nobody, nor does who settles nothing.
    const late = new TestView();
    await end(late, ABORTED);
    const options = { name: 'late', quota: '10/1m' };
    expect(action(limiterOf({ ...options, settle, mode: 'shadow' }).decide(late))).toBe('pass');
    expect(action(limiterOf({ ...options, name: 'plain' }).decide(late))).toBe('pass');
  });

  test('is not asked for of a client that goes away while a later limiter denies', async () => {
    const settle = jest.fn(() => 9);
    const limiter = limiterOf({ quota: '10/1m', settle });
    const later = limiterOf({ name: 'later', quota: '0/1m', cost: inTurn(1) });
    const raw = {};
    const [view, another] = [new TestView({}, raw), new TestView({}, raw)];
    void limiter.decide(view);
    const deciding = later.decide(another);
    view.responseEnd = ABORTED;
    view.close();
    expect(action(await deciding)).toBe('deny');
    await inTurn(undefined)();
    expect([settle.mock.calls.length, left(limiter)]).toEqual([0, [10]]);
  });

  test('is asked for once a later limiter has decided, where that admits or fails', async () => {
    const settle = jest.fn(() => 4);
    const limiter = limiterOf({ quota: 'fixed-window 10/1m', settle });
    const fail = async (): Promise<number> => Promise.reject(new Error('No cost'));
    for (const [i, cost] of [inTurn(1), fail].entries()) {
      const later = limiterOf({ name: `later ${i}`, quota: '5/1m', cost });
      const raw = {};
      const [view, another] = [new TestView({}, raw), new TestView({}, raw)];
      void limiter.decide(view);
      const deciding = later.decide(another);
      view.responseEnd = ABORTED;
      view.close();
      expect(settle).toHaveBeenCalledTimes(i);
      await Promise.allSettled([deciding]);
      await inTurn(undefined)();
      expect(settle).toHaveBeenCalledTimes(i + 1);
    }
    expect(left(limiter)).toEqual([2]);
  });

  test('is asked for at once where somebody else has answered, whoever is deciding still', () => {
    const settle = jest.fn(() => 0);
    const limiter = limiterOf({ quota: '10/1m', settle });
    const never = limiterOf({ name: 'never', quota: '5/1m', cost: () => new Promise(() => {}) });
    const raw = {};
    const [view, another] = [new TestView({}, raw), new TestView({}, raw)];
    void limiter.decide(view);
    void never.decide(another);
    view.responseEnd = { status: 503, completed: true };
    view.close();
    expect(settle).toHaveBeenCalledTimes(1);
  });

  test('is settled once of a client that goes away while it is held back', async () => {
    const settle = jest.fn(() => 0);
    const limiter = limiterOf({ quota: 'leaky-bucket 5 1/1s', settle });
    void limiter.decide(new TestView());
    const view = new TestView();
    const waiting = limiter.decide(view);
    await end(view, ABORTED);
    expect(await waiting).toEqual({ action: 'drop' });
    expect([settle.mock.calls.length, left(limiter)]).toEqual([1, [4]]);
  });

  test('is not asked for of a request that was denied', async () => {
    const settle = jest.fn(() => 0);
    const limiter = limiterOf({ quota: '0/1m', settle });
    const view = new TestView();
    expect(action(limiter.decide(view))).toBe('deny');
    expect(view.listeners).toBe(0);
    await end(view);
    expect(settle).not.toHaveBeenCalled();
  });

  test('is not asked for where a later limiter denied, which gave all back', async () => {
    const settle = jest.fn(() => 7);
    const limiter = limiterOf({ quota: '10/1m', settle });
    const raw = {};
    const [view, another] = [new TestView({}, raw), new TestView({}, raw)];
    void limiter.decide(view);
    expect(action(limiterOf({ name: 'none', quota: '0/1m' }).decide(another))).toBe('deny');
    await end(view);
    expect([settle.mock.calls.length, left(limiter)]).toEqual([0, [10]]);
  });

  test('is not asked for of a policy in shadow mode that had no room, but of one that had', async () => {
    const settle = jest.fn(() => 1);
    const limiter = limiterOf({ quota: 'fixed-window 3/1m', cost: 2, mode: 'shadow', settle });
    for (let i = 0; i < 3; i += 1) {
      const view = new TestView();
      void limiter.decide(view);
      await end(view);
    }
    // 3 - 1 - 1 leaves no room for the third one's 2.
    expect([settle.mock.calls.length, left(limiter)]).toEqual([2, [1]]);
  });
});

describe('settled by hand', () => {
  test('wins, and nobody is asked', async () => {
    const settle = jest.fn(() => 9);
    const limiter = limiterOf({ quota: '10/1m', settle });
    const view = new TestView();
    const { verdict } = limiter.decide(view) as { verdict: Verdict };
    void verdict.settle(4);
    await end(view);
    expect([settle.mock.calls.length, left(limiter)]).toEqual([0, [6]]);
  });

  test('wins for its policy, and the others are asked', async () => {
    const limiter = limiterOf({
      settle: () => 2,
      policies: [
        { name: 'a', quota: '10/1m' },
        { name: 'b', quota: '10/1m' },
      ],
    });
    const view = new TestView();
    const { verdict } = limiter.decide(view) as { verdict: Verdict };
    void verdict.settle({ a: 5 });
    await end(view);
    expect(left(limiter)).toEqual([5, 8]);
  });

  test('wins while the function is still thinking', async () => {
    const limiter = limiterOf({ quota: '10/1m', settle: inTurn(9) });
    const view = new TestView();
    const { verdict } = limiter.decide(view) as { verdict: Verdict };
    view.close();
    void verdict.settle(4);
    for (let i = 0; i < 3; i += 1) await inTurn(undefined)();
    expect(left(limiter)).toEqual([6]);
  });
});

describe('settled by hand for a policy that was not charged', () => {
  const plans = { free: { tokens: '10/1m', requests: '5/1m' }, unlimited: { requests: '100/1m' } };

  test('changes nothing, but for a name that is none', () => {
    const limiter = limiterOf({ plans, plan: () => 'unlimited' });
    const { verdict } = limiter.decide(new TestView()) as { verdict: Verdict };
    expect(() => verdict.settle({ tokens: 5 })).not.toThrow();
    expect(() => verdict.settle({ token: 5 })).toThrow(/`requests`.*got `token`/);
  });
});

describe('a `settle` that fails', () => {
  test.each<[string, () => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('No usage');
      },
      /`settle` of policy `default` failed, so what was reserved stands: No usage/,
    ],
    ['rejects', async () => Promise.reject(new Error('No usage')), /No usage/],
    ['answers nothing', () => undefined, /`settle` to be .* whole number, 0 or more, got/],
    ['answers less than nothing', () => -1, /got `-1`/],
    ['answers a part', async () => 0.5, /got `0.5`/],
    ['answers a text', () => '3', /got `"3"`/],
    ['answers what is no number', () => Number.NaN, /got `NaN`/],
  ])('(it %s) leaves what was reserved, and is told', async (_, settle, message) => {
    const events: [FloodgateEvent, (TestRequest | undefined)?][] = [];
    const limiter = limiterOf({
      quota: 'fixed-window 10/1m',
      cost: 3,
      settle: settle as () => number,
      onEvent: (...event) => events.push(event),
    });
    const view = new TestView();
    void limiter.decide(view);
    await end(view);
    expect(left(limiter)).toEqual([7]);
    expect(events).toEqual([
      [
        expect.objectContaining({
          code: 'settle-failed',
          message: expect.stringMatching(message),
          error: expect.any(Error),
        }),
        view.request,
      ],
    ]);
  });

  test('counts for a block all the same', async () => {
    const settle = (): number => {
      throw new Error('No');
    };
    const quota = 'fixed-window 2/1m block=1h';
    const limiter = limiterOf({ quota, settle, onEvent: () => {} });
    for (let i = 0; i < 2; i += 1) {
      const view = new TestView();
      void limiter.decide(view);
      await end(view);
    }
    expect((limiter.peek(KEY) as Verdict).tightest.blocked).toBe(true);
  });

  test('and a store that fails are two events', async () => {
    const remote = new FailingStore(store);
    const codes: string[] = [];
    const onEvent = ({ code }: FloodgateEvent): unknown => codes.push(code);
    const limiter = limiterOf({ quota: '9/1m', store: remote, settle: () => 0, onEvent });
    const view = new TestView();
    await limiter.decide(view);
    remote.fail();
    await end(view);
    expect(codes).toEqual(['settle-failed']);
  });
});

describe('ready-made', () => {
  const ends: ResponseEnd[] = [
    { status: 200, completed: true },
    { status: 200, completed: false },
    { status: 302, completed: true },
    { status: 400, completed: true },
    { status: 401, completed: false },
    { status: 499, completed: true },
    ABORTED,
    { status: 500, completed: true },
  ];
  const counted = (settle: SettleFunction<string>): unknown =>
    ends
      .filter((one) => settle(one, 'request', 3) === 3)
      .map(({ status, completed }) => `${status}${completed ? '' : ' cut off'}`);

  test('onlyFailures counts statuses from 400 to 499, and who went away before being answered', () => {
    expect(counted(onlyFailures())).toEqual(['400', '401 cut off', '499', '499 cut off']);
  });

  test('onlyFailures can be told what a failure is, and still counts who went away', () => {
    const when = ({ status }: ResponseEnd): boolean => status === 401;
    expect(counted(onlyFailures({ when }))).toEqual(['401 cut off', '499 cut off']);
  });

  test('onlySuccesses counts statuses below 400', () => {
    expect(counted(onlySuccesses())).toEqual(['200', '200 cut off', '302']);
  });

  test('onlySuccesses can be told what a success is', () => {
    expect(counted(onlySuccesses({ when: ({ completed }) => !completed }))).toEqual([
      '200 cut off',
      '401 cut off',
      '499 cut off',
    ]);
  });

  test('both give nothing but what was reserved or 0, and the request to `when`', () => {
    const when = jest.fn(() => false);
    for (const make of [onlyFailures, onlySuccesses]) {
      expect(make({ when })({ status: 200, completed: true }, 'request', 3)).toBe(0);
    }
    expect(when.mock.calls).toEqual([
      [{ status: 200, completed: true }, 'request'],
      [{ status: 200, completed: true }, 'request'],
    ]);
  });

  test.each([onlyFailures, onlySuccesses])('refuse options that are wrong', (make) => {
    expect(() => make({ when: 400 } as never)).toThrow(/`when` to be a function, got `400`/);
    expect(() => make({ status: 400 } as never)).toThrow(/`status`/);
    expect(() => make(null as never)).toThrow(/settle options/);
  });
});

describe('limits on failures', () => {
  const quota = 'sliding-window-log 5/15m block=15m';

  test('200 guesses at once: exactly five reach the handler, and the fifth failure blocks', async () => {
    const limiter = limiterOf({ quota, settle: onlyFailures() });
    const views = Array.from({ length: 200 }, () => new TestView());
    const passed = views.filter((view) => action(limiter.decide(view)) === 'pass');
    expect(passed).toHaveLength(5);
    for (const [index, view] of passed.entries()) {
      expect((limiter.peek(KEY) as Verdict).tightest.blocked).toBe(false);
      clock.advance(1000);
      await end(view, { status: 401 });
      expect((limiter.peek(KEY) as Verdict).tightest.blocked).toBe(index === 4);
    }
    expect(limiter.peek(KEY)).toMatchObject({ retryAfterMs: 15 * MINUTE_MS });
  });

  test('20 that succeed at once never block', async () => {
    const limiter = limiterOf({ quota, settle: onlyFailures() });
    const views = Array.from({ length: 20 }, () => new TestView());
    for (const view of views) void limiter.decide(view);
    for (const view of views) await end(view);
    expect(left(limiter)).toEqual([5]);
  });
});

/** A request: how it is decided upon and how it ends, step by step, beside others. */
test('however requests interleave, units are conserved, and each is settled once', async () => {
  const LIMIT = 12;
  const request = fc.record({
    cost: fc.integer({ min: 0, max: 4 }),
    trueCost: fc.integer({ min: 0, max: 6 }),
    end: fc.constantFrom('answered', 'aborted', 'throws', 'by hand', 'denied later'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { minLength: 1, maxLength: 10 }),
      fc.infiniteStream(fc.nat()),
      async (requests, order) => {
        const own = new MemoryStore({ clock });
        const settled: number[] = [];
        const limiter = new HttpLimiter<TestRequest>({
          store: own,
          quota: `fixed-window ${LIMIT}/1d`,
          cost: ({ user }) => requests[Number(user)]?.cost ?? 0,
          settle: (_, { user }) => {
            settled.push(Number(user));
            const { end, trueCost } = requests[Number(user)] as (typeof requests)[number];
            if (end === 'throws') throw new Error('No usage');
            return trueCost;
          },
          onEvent: () => {},
        });
        const denier = new HttpLimiter<TestRequest>({ quota: '0/1m' });
        let used = 0;
        const steps = requests.map((one, user) => {
          const raw = {};
          const view = new TestView({ user }, raw);
          let verdict: Verdict;
          let isIn = false;
          const asked = (): number => settled.filter((other) => other === user).length;
          return [
            () => {
              const outcome = limiter.decide(view);
              isIn = action(outcome) === 'pass';
              expect(isIn).toBe(one.cost === 0 || used + one.cost <= LIMIT);
              ({ verdict } = outcome as { verdict: Verdict });
              if (isIn) used += one.cost;
            },
            async () => {
              if (one.end === 'by hand') void verdict.settle(one.trueCost);
              if (one.end === 'denied later') void denier.decide(new TestView({ user }, raw));
              await end(view, one.end === 'aborted' ? ABORTED : {});
              if (!isIn) return expect(asked()).toBe(0);
              const byOption = one.end !== 'by hand' && one.end !== 'denied later';
              expect(asked()).toBe(byOption ? 1 : 0);
              const isKept = one.end === 'throws';
              used -= isKept ? 0 : one.cost;
              used += isKept || one.end === 'denied later' ? 0 : one.trueCost;
            },
          ];
        });
        while (steps.some((one) => one.length > 0)) {
          const open = steps.filter((one) => one.length > 0);
          const next = open[order.next().value % open.length];
          await next?.shift()?.();
          expect(left(limiter)).toEqual([Math.max(0, LIMIT - used)]);
        }
      },
    ),
    { numRuns: 1000 },
  );
}, 60_000);
