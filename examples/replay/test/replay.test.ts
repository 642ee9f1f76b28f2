import { parseQuota } from '@floodgate/express';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Replay, type ReplayOptions, replay } from '../src/replay.ts';

/** Each request as client, time of day, and what was asked for. */
function replayOf(
  requests: readonly (readonly [client: string, time: string, request?: string])[],
  quota: string,
  options: Partial<ReplayOptions> = {},
): Promise<Replay> {
  async function* lines(): AsyncGenerator<string> {
    for (const [client, time, request = 'GET / HTTP/1.1'] of requests) {
      yield `${client} - - [17/May/2015:${time}] "${request}" 200 1 "-" "browser"`;
    }
  }
  return replay(lines(), { quota: parseQuota(quota), ...options });
}

test('an IPv6 client is its network, an IPv4-mapped one the IPv4 address that it is', async () => {
  const requests = [
    '2001:db8:0:ab00::1',
    '2001:DB8:0:AB12:ffff::2',
    '2001:db8:0:ac00::1',
    '::ffff:203.0.113.7',
    '203.0.113.7',
  ].map((client) => [client, '10:00:00 +0000'] as const);
  const { tally } = await replayOf(requests, '1/1m');
  expect(tally).toMatchObject({ clients: 3, deniedRequests: 2 });
  expect(tally.mostDenied(10)).toEqual([
    { client: '2001:db8:0:ab00::/56', denied: 1, requests: 2 },
    { client: '203.0.113.7', denied: 1, requests: 2 },
  ]);
  const each = await replayOf(requests, '1/1m', { ipv6Prefix: 128 });
  expect(each.tally).toMatchObject({ clients: 4, deniedRequests: 1 });
});

test('the clock is the log’s, whatever its zone', async () => {
  const times = ['23:59:55 +0000', '18:29:56 -0530', '19:59:57 -0400', '20:00:06 -0400'];
  const { tally } = await replayOf(
    times.map((time) => ['203.0.113.7', time]),
    'sliding-window-log 2/10s',
  );
  // The third is in the ten seconds of both before it; for the fourth, the first is over.
  expect(tally.deniedRequests).toBe(1);
});

test('requests are decided in the order of the log, even if its time steps back', async () => {
  const order: number[] = [];
  const { tally } = await replayOf(
    [
      ['203.0.113.7', '10:00:09 +0000'],
      ['203.0.113.8', '10:00:08 +0000'],
      ['203.0.113.7', '10:00:08 +0000'],
    ],
    'leaky-bucket 1 1/10s',
    { onLine: (requests) => order.push(requests) },
  );
  expect(order).toEqual([1, 2, 3]);
  expect(tally.mostDenied(1)).toEqual([{ client: '203.0.113.7', denied: 1, requests: 2 }]);
});

test('nobody waits, but it is known how long they would have', async () => {
  const minute = Array.from({ length: 4 }, () => ['203.0.113.7', '10:00:00 +0000'] as const);
  const { tally, waitMs } = await replayOf(minute, 'leaky-bucket 3 1/1h');
  expect(tally.deniedRequests).toBe(1);
  // Of three admitted, the second waits an hour and the third two.
  expect(waitMs).toBe(3 * 3_600_000);
});

test.each([
  'OPTIONS * HTTP/1.1',
  'CONNECT example.com:443 HTTP/1.1',
  'GET http://example.com:99999/ HTTP/1.1',
  'GET http:// HTTP/1.1',
  'GET // HTTP/1.0',
  String.raw`GET /\\example:99999/ HTTP/1.1`,
  String.raw`GET \x5c\x5c HTTP/1.1`,
  'GET /a b?c=%zz#d HTTP/1.1',
  'GET /\x80\xff\x00\x1b HTTP/1.1',
  'get ?? HTTP/2.0',
  'M-SEARCH /../../etc/passwd HTTP/1.1',
  'POST /__proto__ HTTP/1.1',
])('an odd request is a request: %j', async (request) => {
  const { tally, badLines } = await replayOf([['203.0.113.7', '10:00:00 +0000', request]], '1/1m');
  expect(badLines.count).toBe(0);
  expect(tally.requests).toBe(1);
});

test('whatever was asked for, each request is decided', async () => {
  // Any byte but those that a log has to write in another way.
  const target = fc.string({
    unit: fc.integer({ min: 1, max: 255 }).map((c) => String.fromCharCode(c)),
  });
  const requests = fc.array(
    target.map((text) => `GET /${text.replace(/[\s"\\]/g, ' ').trim()} HTTP/1.1`),
  );
  await fc.assert(
    fc.asyncProperty(requests, async (all) => {
      const { tally } = await replayOf(
        all.map((request) => ['203.0.113.7', '10:00:00 +0000', request]),
        '1000/1m',
      );
      expect(tally.requests).toBe(all.length);
    }),
  );
});
