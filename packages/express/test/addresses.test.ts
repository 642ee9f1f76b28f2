import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Express } from 'express';
import supertest from 'supertest';
import {
  type FloodgateEvent,
  fromAddresses,
  type RateLimitOptions,
  rateLimit,
} from '../src/index.ts';
import { tellErrors } from './errors.ts';
import { answer, send, serve, statuses } from './server.ts';
import { versions } from './versions.ts';

describe.each(versions)('%s', (_, express) => {
  let events: FloodgateEvent[];

  beforeEach(() => {
    events = [];
  });

  /** An app that answers with the key that a request counted for. */
  function app(trust: unknown, options: Partial<RateLimitOptions> = {}): Express {
    const app = express();
    if (trust !== undefined) app.set('trust proxy', trust);
    app.use(
      rateLimit({
        limit: 2,
        window: '1h',
        onEvent: (event) => events.push(event),
        ...options,
      } as RateLimitOptions),
    );
    app.get('/', ({ rateLimit }, response) => void response.send(rateLimit?.tightest.key));
    return app;
  }

  async function keyOf(app: Express, forwardedFor?: string): Promise<string> {
    const request = supertest(app).get('/');
    if (forwardedFor !== undefined) request.set('X-Forwarded-For', forwardedFor);
    return (await request.expect(200)).text;
  }

  describe('counts for the address that Express finds', () => {
    test.each<[trust: unknown, forwardedFor: string | undefined, key: string]>([
      [undefined, undefined, 'ip:127.0.0.1'],
      [undefined, '203.0.113.9', 'ip:127.0.0.1'],
      [false, '203.0.113.9', 'ip:127.0.0.1'],
      [1, undefined, 'ip:127.0.0.1'],
      [1, '203.0.113.9', 'ip:203.0.113.9'],
      [1, '6.6.6.6, 203.0.113.9', 'ip:203.0.113.9'],
      [2, '6.6.6.6, 203.0.113.9, 10.0.0.1', 'ip:203.0.113.9'],
      [2, '203.0.113.9', 'ip:203.0.113.9'],
      [true, '6.6.6.6, 203.0.113.9', 'ip:6.6.6.6'],
      // The peer of a dual-stack socket is ::ffff:127.0.0.1, which this range covers.
      ['127.0.0.0/8', '203.0.113.9', 'ip:203.0.113.9'],
      ['127.0.0.0/8, 10.0.0.0/8', '6.6.6.6, 203.0.113.9, 10.0.0.1', 'ip:203.0.113.9'],
      ['10.0.0.0/8', '203.0.113.9', 'ip:127.0.0.1'],
      ['2000::/3', '203.0.113.9', 'ip:127.0.0.1'],
      ['loopback', '203.0.113.7:51234', 'ip:203.0.113.7'],
      ['loopback', '[2001:db8::1]:443', 'ip:2001:db8::/56'],
      ['loopback', '::ffff:203.0.113.7', 'ip:203.0.113.7'],
      ['loopback', '::FFFF:CB00:7107', 'ip:203.0.113.7'],
      ['loopback', '0:0:0:0:0:ffff:203.0.113.7', 'ip:203.0.113.7'],
      ['loopback', '2001:DB8:0:AB12::1', 'ip:2001:db8:0:ab00::/56'],
    ])('trust proxy %j, X-Forwarded-For %j: %s', async (trust, forwardedFor, key) => {
      expect(await keyOf(app(trust), forwardedFor)).toBe(key);
    });

    test.each(['X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'Forwarded', 'Host'])(
      'whatever a client claims by %s',
      async (header) => {
        const request = supertest(app(1)).get('/').set('X-Forwarded-For', '203.0.113.9');
        expect((await request.set(header, '6.6.6.6')).text).toBe('ip:203.0.113.9');
      },
    );

    test('and nobody else chooses it: a new claim each time is one client', async () => {
      const limited = app(undefined, { limit: 10 } as Partial<RateLimitOptions>);
      const claims = Array.from({ length: 200 }, (_, i) => `X-Forwarded-For: 1.1.1.${i}`);
      const answers = await serve(limited, (at) => statuses(at, claims));
      expect(answers).toEqual([...Array(10).fill(200), ...Array(190).fill(429)]);
    });

    test('behind one proxy each client has a budget of its own', async () => {
      const limited = app(1);
      for (let i = 1; i <= 25; i += 1) {
        expect(await keyOf(limited, `198.51.100.${i}`)).toBe(`ip:198.51.100.${i}`);
      }
      expect(events).toEqual([]);
    });

    test('what a client prepends changes nothing', async () => {
      const claims = ['a', 'b', 'c'].map((claim) => `X-Forwarded-For: ${claim}, 203.0.113.9`);
      expect(await serve(app(1), (at) => statuses(at, claims))).toEqual([200, 200, 429]);
    });

    test('a thousand addresses of one site are one client', async () => {
      const limited = app(1, { limit: 10 } as Partial<RateLimitOptions>);
      const addresses = Array.from({ length: 1000 }, (_, i) => `2001:db8:1:2::${i.toString(16)}`);
      const headers = addresses.map((address) => `X-Forwarded-For: ${address}`);
      const answers = await serve(limited, (at) => statuses(at, headers));
      expect(answers).toEqual([...Array(10).fill(200), ...Array(990).fill(429)]);
      expect(await keyOf(limited, '2001:db8:2:2::1')).toBe('ip:2001:db8:2::/56');
    });
  });

  describe('warns once', () => {
    test.each<[string, unknown, (string | undefined)[], RegExp[]]>([
      ['of a proxy that is not trusted', undefined, ['a', 'b'], [/trusts no proxy/]],
      ['of a proxy that is not trusted, by number', 0, ['a', 'b'], [/trusts no proxy/]],
      ['of a trust in everyone', true, ['203.0.113.9', '203.0.113.10'], [/choose their own/]],
      ['of the same, as a range', '0.0.0.0/1, 128.0.0.0/1', ['203.0.113.9'], [/choose their own/]],
      ['of the same, as a function', () => true, ['203.0.113.9'], [/choose their own/]],
      [
        'of a proxy that forwards no address',
        1,
        [undefined, undefined],
        [/without X-Forwarded-For/],
      ],
      ['and not of proxies that are named', 'loopback', ['203.0.113.9'], []],
      ['and not of proxies that are counted', 1, ['203.0.113.9'], []],
      ['and not of clients that come past them', '10.0.0.0/8', [undefined, '203.0.113.9'], []],
      ['and not of a server without a proxy', undefined, [undefined, undefined], []],
    ])('%s', async (_, trust, requests, expected) => {
      const limited = app(trust);
      for (const forwardedFor of requests) await keyOf(limited, forwardedFor);
      expect(events.map(({ message }) => message)).toEqual(
        expected.map((message) => expect.stringMatching(message)),
      );
    });
  });

  describe('on a Unix socket', () => {
    let folder: string;

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'floodgate-'));
    });

    afterEach(() => rm(folder, { recursive: true }));

    test('a request fails and says so: nobody shares a bucket called "undefined"', async () => {
      const limited = app(undefined);
      const errors: unknown[] = [];
      limited.use(tellErrors(errors));
      const ask = (at: number | string): Promise<string> => answer(send(at, '/'));
      expect(await serve(limited, ask, join(folder, 'socket'))).toMatch(/^HTTP\/1.1 500/);
      expect(errors).toEqual([expect.objectContaining({ code: 'FLOODGATE_NO_KEY' })]);
      expect(events.map(({ message }) => message)).toEqual([expect.stringMatching(/Unix socket/)]);
    });

    test('a proxy that is trusted names the client', async () => {
      const limited = app((address: string | undefined) => address === undefined);
      const ask = (at: number | string): Promise<string> =>
        answer(send(at, '/', 'X-Forwarded-For: 203.0.113.9'));
      expect(await serve(limited, ask, join(folder, 'socket'))).toMatch(/ip:203\.0\.113\.9$/);
      expect(events).toEqual([]);
    });
  });

  test('addresses can be left out', async () => {
    const limited = app('loopback', {
      limit: 0,
      skip: fromAddresses(['10.0.0.0/8', '::1']),
    } as Partial<RateLimitOptions>);
    const answers = [];
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '::1', '11.1.2.3', '::2']) {
      answers.push((await supertest(limited).get('/').set('X-Forwarded-For', address)).status);
    }
    expect(answers).toEqual([200, 200, 200, 429, 429]);
  });
});
