import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type Koa from 'koa';
import supertest from 'supertest';
import {
  type FloodgateEvent,
  fromAddresses,
  type RateLimitOptions,
  rateLimit,
} from '../src/index.ts';
import { quietApp } from './app.ts';
import { answer, send, serve, statuses } from './server.ts';
import { versions } from './versions.ts';

type Trust = Partial<Pick<Koa, 'proxy' | 'proxyIpHeader' | 'maxIpsCount'>>;

const one: Trust = { proxy: true, maxIpsCount: 1 };
const two: Trust = { proxy: true, maxIpsCount: 2 };
const all: Trust = { proxy: true };
const other: Trust = { proxy: true, maxIpsCount: 1, proxyIpHeader: 'X-Real-IP' };

describe.each(versions)('%s', (_, make) => {
  let events: FloodgateEvent[];
  let errors: unknown[];

  beforeEach(() => {
    events = [];
    errors = [];
  });

  /** An app that answers with the key that a request counted for. */
  function app(trust: Trust, options: Partial<RateLimitOptions> = {}): Koa {
    const app = Object.assign(quietApp(make, errors), trust);
    app.use(
      rateLimit({
        limit: 2,
        window: '1h',
        onEvent: (event) => events.push(event),
        ...options,
      } as RateLimitOptions),
    );
    app.use((ctx) => {
      ctx.body = ctx.state.rateLimit?.tightest.key ?? 'not limited';
    });
    return app;
  }

  async function keyOf(
    app: Koa,
    forwardedFor?: string,
    header = 'X-Forwarded-For',
  ): Promise<string> {
    const request = supertest(app.callback()).get('/');
    if (forwardedFor !== undefined) request.set(header, forwardedFor);
    return (await request.expect(200)).text;
  }

  describe('counts for the address that Koa finds', () => {
    test.each<[trust: Trust, forwardedFor: string | undefined, key: string]>([
      [{}, undefined, 'ip:127.0.0.1'],
      [{}, '203.0.113.9', 'ip:127.0.0.1'],
      [one, undefined, 'ip:127.0.0.1'],
      [one, '203.0.113.9', 'ip:203.0.113.9'],
      [one, '6.6.6.6, 203.0.113.9', 'ip:203.0.113.9'],
      [two, '6.6.6.6, 203.0.113.9, 10.0.0.1', 'ip:203.0.113.9'],
      [two, '203.0.113.9', 'ip:203.0.113.9'],
      [all, '6.6.6.6, 203.0.113.9', 'ip:6.6.6.6'],
      [other, '203.0.113.9', 'ip:127.0.0.1'],
      [one, '203.0.113.7:51234', 'ip:203.0.113.7'],
      [one, '[2001:db8::1]:443', 'ip:2001:db8::/56'],
      [one, '::ffff:203.0.113.7', 'ip:203.0.113.7'],
      [one, '2001:DB8:0:AB12::1', 'ip:2001:db8:0:ab00::/56'],
    ])('%j, X-Forwarded-For %j: %s', async (trust, forwardedFor, key) => {
      expect(await keyOf(app(trust), forwardedFor)).toBe(key);
    });

    test('in whichever header it looks for it', async () => {
      expect(await keyOf(app(other), '203.0.113.9', 'X-Real-IP')).toBe('ip:203.0.113.9');
    });

    test.each(['X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'Forwarded', 'Host'])(
      'whatever a client claims by %s',
      async (header) => {
        const request = supertest(app(one).callback())
          .get('/')
          .set('X-Forwarded-For', '203.0.113.9');
        expect((await request.set(header, '6.6.6.6')).text).toBe('ip:203.0.113.9');
      },
    );

    test('and nobody else chooses it: a new claim each time is one client', async () => {
      const limited = app({}, { limit: 10 } as Partial<RateLimitOptions>);
      const claims = Array.from({ length: 200 }, (_, i) => `X-Forwarded-For: 1.1.1.${i}`);
      const answers = await serve(limited, (at) => statuses(at, claims));
      expect(answers).toEqual([...Array(10).fill(200), ...Array(190).fill(429)]);
    });

    test('behind one proxy each client has a budget of its own', async () => {
      const limited = app(one);
      for (let i = 1; i <= 25; i += 1) {
        expect(await keyOf(limited, `198.51.100.${i}`)).toBe(`ip:198.51.100.${i}`);
      }
      expect(events).toEqual([]);
    });

    test('what a client prepends changes nothing', async () => {
      const claims = ['a', 'b', 'c'].map((claim) => `X-Forwarded-For: ${claim}, 203.0.113.9`);
      expect(await serve(app(one), (at) => statuses(at, claims))).toEqual([200, 200, 429]);
    });

    test('a thousand addresses of one site are one client', async () => {
      const limited = app(one, { limit: 10 } as Partial<RateLimitOptions>);
      const addresses = Array.from({ length: 1000 }, (_, i) => `2001:db8:1:2::${i.toString(16)}`);
      const headers = addresses.map((address) => `X-Forwarded-For: ${address}`);
      const answers = await serve(limited, (at) => statuses(at, headers));
      expect(answers).toEqual([...Array(10).fill(200), ...Array(990).fill(429)]);
      expect(await keyOf(limited, '2001:db8:2:2::1')).toBe('ip:2001:db8:2::/56');
    });
  });

  describe('warns once', () => {
    test.each<[string, Trust, (string | undefined)[], RegExp[]]>([
      ['of a proxy that is not trusted', {}, ['a', 'b'], [/trusts no proxy/]],
      ['of a trust in everyone', all, ['203.0.113.9', '203.0.113.10'], [/choose their own/]],
      ['of the same, before anyone tries', all, [undefined, undefined], [/choose their own/]],
      [
        'of a proxy that forwards no address',
        one,
        [undefined, undefined],
        [/without X-Forwarded-For/],
      ],
      ['and not of one that does so by another header', other, [undefined, undefined], []],
      ['and not of proxies that are counted', two, ['203.0.113.9'], []],
      ['and not of a server without a proxy', {}, [undefined, undefined], []],
    ])('%s', async (_, trust, requests, expected) => {
      const limited = app(trust);
      for (const forwardedFor of requests) {
        await supertest(limited.callback())
          .get('/')
          .set(forwardedFor === undefined ? {} : { 'X-Forwarded-For': forwardedFor });
      }
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

    test('a request fails and says so: nobody shares a bucket called ""', async () => {
      const ask = (at: number | string): Promise<string> => answer(send(at, '/'));
      expect(await serve(app({}), ask, join(folder, 'socket'))).toMatch(/^HTTP\/1.1 500/);
      expect(errors).toEqual([expect.objectContaining({ code: 'FLOODGATE_NO_KEY' })]);
      expect(events.map(({ message }) => message)).toEqual([expect.stringMatching(/Unix socket/)]);
    });

    test('a proxy that is trusted names the client', async () => {
      const ask = (at: number | string): Promise<string> =>
        answer(send(at, '/', 'X-Forwarded-For: 203.0.113.9'));
      expect(await serve(app(one), ask, join(folder, 'socket'))).toMatch(/ip:203\.0\.113\.9$/);
      expect(events).toEqual([]);
    });
  });

  test('addresses can be left out', async () => {
    const limited = app(one, {
      limit: 0,
      skip: fromAddresses(['10.0.0.0/8', '::1']),
    } as Partial<RateLimitOptions>);
    const answers = [];
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '::1', '11.1.2.3', '::2']) {
      const request = supertest(limited.callback()).get('/');
      answers.push((await request.set('X-Forwarded-For', address)).status);
    }
    expect(answers).toEqual([200, 200, 200, 429, 429]);
  });
});
