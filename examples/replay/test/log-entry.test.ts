import { describe, expect, test } from '@jest/globals';
import { parseLogEntry } from '../src/log-entry.ts';

const REST = '200 512 "https://example.com/" "curl/8.5.0"';

test('a line of the combined format', () => {
  const line = `203.0.113.7 - ada [17/May/2015:10:05:03 +0000] "GET /tea?milk=1 HTTP/1.1" ${REST}`;
  expect(parseLogEntry(line)).toEqual({
    timeMs: Date.UTC(2015, 4, 17, 10, 5, 3),
    client: '203.0.113.7',
    method: 'GET',
    target: '/tea?milk=1',
  });
});

test.each([
  ['17/May/2015:10:05:03 +0000', '2015-05-17T10:05:03Z'],
  ['17/May/2015:10:05:03 -0000', '2015-05-17T10:05:03Z'],
  ['17/May/2015:10:05:03 +0200', '2015-05-17T10:05:03+02:00'],
  ['17/May/2015:10:05:03 -0330', '2015-05-17T10:05:03-03:30'],
  ['01/Jan/2024:00:05:00 +0545', '2024-01-01T00:05:00+05:45'],
  ['29/Feb/2024:23:59:59 -1000', '2024-02-29T23:59:59-10:00'],
  ['31/Dec/2016:23:59:60 +0000', '2017-01-01T00:00:00Z'],
])('%s is %s', (time, iso) => {
  const entry = parseLogEntry(`203.0.113.7 - - [${time}] "GET / HTTP/1.1" ${REST}`);
  expect(entry?.timeMs).toBe(Date.parse(iso));
});

describe('what a server may well write', () => {
  test.each([
    ['a user with spaces', '::1 - Ada Lovelace [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1"', '/'],
    ['no user at all', '::1 -  [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1"', '/'],
    [
      'quotes',
      String.raw`::1 - - [17/May/2015:10:05:03 +0000] "GET /\"\\ HTTP/1.1"`,
      String.raw`/\"\\`,
    ],
    ['spaces', '::1 - - [17/May/2015:10:05:03 +0000] "GET /a b c HTTP/1.1"', '/a b c'],
    ['HTTP/2', '::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/2"', '/'],
  ])('%s', (_, start, target) => {
    expect(parseLogEntry(`${start} ${REST}`)?.target).toBe(target);
  });

  test('an answer without a body, and a field of its own at the end', () => {
    const start = '::1 - - [17/May/2015:10:05:03 +0000] "HEAD / HTTP/1.1"';
    expect(parseLogEntry(`${start} 304 - "-" "-" 0.003`)?.method).toBe('HEAD');
  });
});

describe('what is no request', () => {
  test.each([
    '',
    'nonsense',
    `host.example - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" ${REST}`,
    `203.0.113.256 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" ${REST}`,
    `203.0.113.7 - - [2015-05-17T10:05:03Z] "GET / HTTP/1.1" ${REST}`,
    `203.0.113.7 - - [30/Feb/2015:10:05:03 +0000] "GET / HTTP/1.1" ${REST}`,
    `203.0.113.7 - - [17/Mai/2015:10:05:03 +0000] "GET / HTTP/1.1" ${REST}`,
    `203.0.113.7 - - [17/May/2015:24:05:03 +0000] "GET / HTTP/1.1" ${REST}`,
    `203.0.113.7 - - [17/May/2015:10:60:03 +0000] "GET / HTTP/1.1" ${REST}`,
    `203.0.113.7 - - [17/May/2015:10:05:03] "GET / HTTP/1.1" ${REST}`,
    `203.0.113.7 - - [17/May/2015:10:05:03 +0000] "-" 408 - "-" "-"`,
    String.raw`203.0.113.7 - - [17/May/2015:10:05:03 +0000] "\x16\x03\x01" 400 226 "-" "-"`,
    `203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /" ${REST}`,
    `203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET  HTTP/1.1" ${REST}`,
    // Cut off, and in the common format, which knows no referrer and no browser.
    '203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 512 "-" "curl',
    '203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 512',
    // Two that ran into each other.
    '203.0.113.7 - - [17/May/2203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "-"',
  ])('%j', (line) => {
    expect(parseLogEntry(line)).toBeUndefined();
  });

  test('is known at once, however long and nested', () => {
    const start = performance.now();
    for (const piece of [' [', '"\\', '" "', '[17/May/2015:10:05:03 +0000] "', ' ']) {
      parseLogEntry(`203.0.113.7 - ${piece.repeat(65_000 / piece.length)}`);
    }
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
