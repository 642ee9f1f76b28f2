import { expect, test } from '@jest/globals';
import {
  byIp,
  byUser,
  type FloodgateEvent,
  HttpLimiter,
  type HttpLimiterOptions,
} from '../src/index.ts';
import { type TestRequest, TestView } from './request.ts';

const forwarded = { headers: { 'x-forwarded-for': '203.0.113.9' } };
const user = byUser((request: TestRequest) => request.user);

test.each<[string, TestRequest[], RegExp[]]>([
  ['no proxy and no word of one', [{}, {}], []],
  ['a forwarded address that nobody trusts', [{}, forwarded, forwarded], [/trusts no proxy/]],
  ['the same in the newer header', [{ headers: { forwarded: 'for=::1' } }], [/trusts no proxy/]],
  [
    'a trust in everyone',
    [{ trustedProxies: 'all' }, { trustedProxies: 'all' }],
    [/choose their own/],
  ],
  [
    'a trusted proxy that forwards',
    [{ trustedProxies: 'some', isPeerTrusted: true, ...forwarded }],
    [],
  ],
  [
    'a trusted proxy that does not',
    [1, 2].map(() => ({ trustedProxies: 'some', isPeerTrusted: true })),
    [/trusted proxy without X-Forwarded-For/],
  ],
  ['a client that comes past the proxies', [{ trustedProxies: 'some' }], []],
  ['no address', [1, 2].map(() => ({ address: undefined })), [/no client address.*Unix socket/]],
  [
    'no address, then an untrusted one',
    [{ address: undefined }, forwarded],
    [/no client address/, /trusts no proxy/],
  ],
])('of addresses: %s', (_, requests, expected) => {
  const events = warningsOf(
    { key: [byIp(), () => 'somebody'] },
    requests.map((r) => new TestView(r)),
  );
  expect(events.map(({ message }) => message)).toEqual(
    expected.map((message) => expect.stringMatching(message)),
  );
});

test('of addresses come only from limiters that go by them', () => {
  const views = (): TestView[] => [new TestView(forwarded)];
  expect(warningsOf({ key: byIp({ from: () => '203.0.113.7' }) }, views())).toEqual([]);
  expect(warningsOf({ key: () => 'somebody' }, views())).toEqual([]);
});

test('of addresses are told with the request that showed it', () => {
  const seen: unknown[] = [];
  const limiter = new HttpLimiter<TestRequest>({
    limit: 5,
    window: '1m',
    onEvent: (event, request) => seen.push([event.code, request]),
  });
  const view = new TestView(forwarded);
  void limiter.decide(view);
  expect(seen).toEqual([['warning', view.request]]);
});

test.each<[string, HttpLimiterOptions<TestRequest>['key'], boolean]>([
  ['in a list', [user, byIp()], true],
  ['asked for in a promise', [byUser(async ({ user }) => user), byIp()], true],
  ['not at all', [byUser(() => undefined), byIp()], false],
  ['only by an error', [byUser(throwing('later')), byIp()], false],
  ['only by a rejection', [byUser(async (r) => throwing('later')(r)), byIp()], false],
  ['not asked for', byIp(), false],
])('of a user who is found when the response has ended: %s', async (_, key, expected) => {
  const views = [1, 2, 3].map(() => new TestView());
  const events = await warningsOfAll({ key }, views, (view) => {
    view.request.user = 'later';
  });
  expect(events.map(({ message }) => message)).toEqual(
    expected ? [expect.stringMatching(/authentication before the limiter/)] : [],
  );
});

test('of late users end when one was known in time: authentication comes first here', async () => {
  const views = [new TestView({ user: 'ann' }), new TestView()];
  const events = await warningsOfAll({ key: [user, byIp()] }, views, (view) => {
    view.request.user = 'signed in';
  });
  expect(events).toEqual([]);
});

test('of late users leave nothing behind, however many come without', () => {
  const limiter = new HttpLimiter<TestRequest>({ quota: '9999/1m', key: [user, byIp()] });
  const views = Array.from({ length: 1000 }, () => new TestView());
  for (const view of views) void limiter.decide(view);
  expect(views.filter(({ listeners }) => listeners > 0)).toHaveLength(100);
});

function warningsOf(
  options: { key: HttpLimiterOptions<TestRequest>['key'] },
  views: readonly TestView[],
): FloodgateEvent[] {
  const events: FloodgateEvent[] = [];
  const limiter = limiterOf(options, events);
  for (const view of views) void limiter.decide(view);
  return events;
}

/** The warnings after the end of all responses, before which something comes to be known. */
async function warningsOfAll(
  options: { key: HttpLimiterOptions<TestRequest>['key'] },
  views: readonly TestView[],
  beforeEnd: (view: TestView) => void,
): Promise<FloodgateEvent[]> {
  const events: FloodgateEvent[] = [];
  const limiter = limiterOf(options, events);
  for (const view of views) {
    await limiter.decide(view);
    beforeEnd(view);
    view.close();
    await new Promise(setImmediate);
  }
  return events;
}

function limiterOf(
  options: { key: HttpLimiterOptions<TestRequest>['key'] },
  events: FloodgateEvent[],
): HttpLimiter<TestRequest> {
  return new HttpLimiter<TestRequest>({
    limit: 9999,
    window: '1m',
    onEvent: (event) => events.push(event),
    ...options,
  } as HttpLimiterOptions<TestRequest>);
}

/** Finds nobody at first; throws when it is asked about this user. */
function throwing(user: string): (request: TestRequest) => undefined {
  return (request) => {
    if (request.user === user) throw new Error('Asked out of turn');
    return undefined;
  };
}
