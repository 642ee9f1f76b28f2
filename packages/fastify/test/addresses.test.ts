import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance, FastifyServerOptions } from 'fastify';
import { type FloodgateEvent, fromAddresses, rateLimit } from '../src/index.ts';
import { versions } from './versions.ts';

describe.each(versions)('%s', (version, fastify) => {
  let events: FloodgateEvent[];

  beforeEach(() => {
    events = [];
  });

  /** An app that answers with the key that a request counted for. */
  async function app(trustProxy: unknown, options: object = {}): Promise<FastifyInstance> {
    const app = fastify({ trustProxy } as FastifyServerOptions) as unknown as FastifyInstance;
    await app.register(rateLimit, {
      quota: '2/1h',
      onEvent: (event) => events.push(event),
      ...options,
    });
    app.get('/', async ({ rateLimit }) => rateLimit?.tightest.key);
    return app;
  }

  async function keyOf(
    app: FastifyInstance,
    forwardedFor?: string,
    remoteAddress = '127.0.0.1',
  ): Promise<string> {
    const headers = forwardedFor === undefined ? {} : { 'X-Forwarded-For': forwardedFor };
    return (await app.inject({ url: '/', headers, remoteAddress })).body;
  }

  // A number of proxies is believed by older versions only: newer ones believe nobody then.
  const counted = version === 'Fastify 5' ? 'ip:127.0.0.1' : 'ip:203.0.113.9';

  test.each<[trustProxy: unknown, forwardedFor: string | undefined, key: string]>([
    [undefined, undefined, 'ip:127.0.0.1'],
    [undefined, '203.0.113.9', 'ip:127.0.0.1'],
    [false, '203.0.113.9', 'ip:127.0.0.1'],
    [true, '6.6.6.6, 203.0.113.9', 'ip:6.6.6.6'],
    [1, '6.6.6.6, 203.0.113.9', counted],
    ['127.0.0.1', '6.6.6.6, 203.0.113.9', 'ip:203.0.113.9'],
    ['loopback, 10.0.0.0/8', '6.6.6.6, 203.0.113.9, 10.0.0.1', 'ip:203.0.113.9'],
    [['10.0.0.0/8'], '203.0.113.9', 'ip:127.0.0.1'],
    [(address: string) => address === '127.0.0.1', '6.6.6.6, 203.0.113.9', 'ip:203.0.113.9'],
    ['loopback', '[2001:db8:0:ab12::1]:443', 'ip:2001:db8:0:ab00::/56'],
    ['loopback', '::ffff:203.0.113.7', 'ip:203.0.113.7'],
  ])('trustProxy %p, X-Forwarded-For %j: %s', async (trustProxy, forwardedFor, key) => {
    expect(await keyOf(await app(trustProxy), forwardedFor)).toBe(key);
  });

  test('who claims another address each time is one client', async () => {
    const limited = await app(undefined);
    const statuses = [];
    for (let i = 0; i < 4; i += 1) {
      const headers = { 'X-Forwarded-For': `1.1.1.${i}`, 'X-Real-IP': `1.1.1.${i}` };
      statuses.push((await limited.inject({ url: '/', headers })).statusCode);
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
  });

  describe('warns once', () => {
    test.each<[string, unknown, (string | undefined)[], RegExp[]]>([
      ['of a proxy that is not trusted', undefined, ['a', 'b'], [/trusts no proxy/]],
      // What newer versions take for nobody; older ones believe it.
      [
        'of a number of proxies',
        1,
        ['203.0.113.9', '203.0.113.10'],
        version === 'Fastify 5' ? [/trusts no proxy.*not a number/] : [],
      ],
      ['of trust in everyone', true, ['203.0.113.9', '203.0.113.10'], [/choose their own/]],
      ['of the same, as ranges', '0.0.0.0/1, 128.0.0.0/1', ['203.0.113.9'], [/choose their own/]],
      ['of the same, of IPv6', '::/1, 8000::/1', ['203.0.113.9'], [/choose their own/]],
      ['of the same, as a function', () => true, ['203.0.113.9'], [/choose their own/]],
      [
        'of a proxy that forwards no address',
        'loopback',
        [undefined, undefined],
        [/without X-Forwarded-For/],
      ],
      [
        'of the same, as a function of the distance',
        (_: string, hop: number) => hop < 1,
        [undefined],
        [/without X-Forwarded-For/],
      ],
      ['and not of proxies that are named', 'loopback', ['203.0.113.9'], []],
      ['and not of clients that come past them', '10.0.0.0/8', [undefined, '203.0.113.9'], []],
      ['and not of a server without a proxy', undefined, [undefined, undefined], []],
    ])('%s', async (_, trustProxy, requests, expected) => {
      const limited = await app(trustProxy);
      for (const forwardedFor of requests) await keyOf(limited, forwardedFor);
      expect(events.map(({ message }) => message)).toEqual(
        expected.map((message) => expect.stringMatching(message)),
      );
    });
  });

  test('addresses can be left out', async () => {
    const limited = await app('loopback', { quota: '0/1h', skip: fromAddresses(['10.0.0.0/8']) });
    const statuses = [];
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '11.1.2.3']) {
      const headers = { 'X-Forwarded-For': address };
      statuses.push((await limited.inject({ url: '/', headers })).statusCode);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });
});
