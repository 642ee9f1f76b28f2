import { MemoryStore } from '@floodgate/core';
import { describe, expect, test } from '@jest/globals';
import { byIp, HttpLimiter, type HttpLimiterOptions, onlyFailures } from '../src/index.ts';

const limit = { limit: 5, window: '1m' };
const policy = { name: 'a', quota: '5/1m' };

describe('options that are wrong are refused when the limiter is made', () => {
  test.each<[string, unknown, RegExp]>([
    [
      'a URL as store',
      { limit: 5, window: '1m', store: 'redis://host' },
      /`store` to be a store, got/,
    ],
    [
      'a URL as the store of a policy',
      { policies: [{ name: 'a', quota: '5/1m', store: 'redis://host' }] },
      /store` to be a store, got/,
    ],
    ['no options', undefined, /options.*object/],
    ['no limit', {}, /`limit` with `window`, `quota`, `policies` or `plans`/],
    ['a limit without a window', { limit: 5 }, /`window`.*undefined/],
    ['a window without a limit', { window: '1m' }, /`limit` with `window`/],
    ['limit and quota', { ...limit, quota: '5/1m' }, /only one of `limit` and `quota`/],
    ['limit and policies', { ...limit, policies: [policy] }, /only one of `limit` and `policies`/],
    ['quota and policies', { quota: '5/1m', policies: [policy] }, /`quota` and `policies`/],
    ['quota and window', { quota: '5/1m', window: '1m' }, /no `window` beside `quota`/],
    ['policies and name', { policies: [policy], name: 'x' }, /no `name` beside `policies`/],

    ['limit NaN', { limit: Number.NaN, window: '1m' }, /`limit`.*NaN/],
    ['limit -1', { limit: -1, window: '1m' }, /`limit`.*-1/],
    ['limit 1.5', { limit: 1.5, window: '1m' }, /`limit`.*1\.5/],
    ['limit Infinity', { limit: Number.POSITIVE_INFINITY, window: '1m' }, /`limit`.*Infinity/],
    ['limit as a text', { limit: '5', window: '1m' }, /`limit`.*"5"/],
    ['window 0', { limit: 5, window: 0 }, /`window`.*0/],
    ['window in words', { limit: 5, window: 'soon' }, /`window`.*soon/],
    ['a window of a function', { limit: () => 5, window: 'soon' }, /`window`.*soon/],
    ['quota in words', { quota: 'plenty' }, /plenty/],
    ['quota null', { quota: null }, /`quota`.*null/],

    ['no policies', { policies: [] }, /`policies`.*one or more/],
    ['policies no list', { policies: policy }, /`policies`.*list/],
    ['a policy without a name', { policies: [{ quota: '5/1m' }] }, /policies\[0\]\.name/],
    ['a policy with an empty name', { policies: [{ ...policy, name: '' }] }, /policies\[0\]\.name/],
    ['a policy without a quota', { policies: [{ name: 'a' }] }, /policies\[0\]\.quota/],
    ['two of one name', { policies: [policy, policy] }, /policies\[1\]\.name.*different/],
    ['two that differ in case', { policies: [policy, { ...policy, name: 'A' }] }, /policies\[1\]/],
    ['the other way round', { policies: [{ ...policy, name: 'A' }, policy] }, /policies\[1\]/],
    [
      'a policy with skip',
      { policies: [{ ...policy, skip: () => true }] },
      /policies\[0\].*`skip`/,
    ],
    ['a policy with mode on', { policies: [{ ...policy, mode: 'on' }] }, /policies\[0\]\.mode/],
    ['a policy with cost -1', { policies: [{ ...policy, cost: -1 }] }, /policies\[0\]\.cost/],
    ['a policy with when true', { policies: [{ ...policy, when: true }] }, /policies\[0\]\.when/],
    ['a policy with key ip', { policies: [{ ...policy, key: 'ip' }] }, /policies\[0\]\.key/],
    ['a policy with store {}', { policies: [{ ...policy, store: {} }] }, /store/],
    ['a policy with a rule', { policies: [{ ...policy, onStoreError: 'open' }] }, /onStoreError/],

    ['an unknown option', { ...limit, burst: 5 }, /`burst`/],
    ['max', { max: 5, window: '1m' }, /`max`.*`limit`/],
    ['windowMs', { limit: 5, windowMs: 60_000 }, /`windowMs`.*`window`/],
    ['keyGenerator', { ...limit, keyGenerator: () => 'x' }, /`keyGenerator`.*`key`/],
    ['standardHeaders', { ...limit, standardHeaders: true }, /`standardHeaders`.*`headers`/],
    ['name empty', { ...limit, name: '' }, /`name`/],
    ['name no text', { ...limit, name: 5 }, /`name`.*5/],
    ['key a resolver that was not called', { ...limit, key: byIp }, /called: `byIp\(\)`/],
    ['key a text', { ...limit, key: 'ip' }, /`key`.*byIp/],
    ['key an empty list', { ...limit, key: [] }, /`key`.*byIp/],
    ['key a list with a text', { ...limit, key: [byIp(), 'ip'] }, /`key`.*"ip"/],
    ['cost 1.5', { ...limit, cost: 1.5 }, /`cost`.*1\.5/],
    ['cost as a text', { ...limit, cost: '1' }, /`cost`.*"1"/],
    ['cost NaN', { ...limit, cost: Number.NaN }, /`cost`.*NaN/],
    ['cost -1', { ...limit, cost: -1 }, /`cost`.*-1/],
    [
      'settle not called',
      { ...limit, settle: onlyFailures },
      /`settle`.*`onlyFailures\(\)`.*called/,
    ],
    ['settle a number', { ...limit, settle: 3 }, /`settle` to be a function/],
    ['mode on', { ...limit, mode: 'on' }, /`mode`.*'shadow'.*"on"/],
    ['skip a list', { ...limit, skip: ['10.0.0.0/8'] }, /`skip`.*function/],
    ['headers true', { ...limit, headers: true }, /`headers`.*true/],
    ['headers draft-99', { ...limit, headers: 'draft-99' }, /`headers`.*draft-99/],
    ['headers an empty list', { ...limit, headers: [] }, /`headers`.*list/],
    ['headers twice', { ...limit, headers: ['legacy', 'legacy'] }, /`headers`.*different/],
    ['headers 8 and 7', { ...limit, headers: ['draft-7', 'draft-8'] }, /draft-8.*draft-7/],
    ['headers 6 and 8', { ...limit, headers: ['draft-8', 'draft-6'] }, /draft-8.*draft-6/],
    ['legacyPolicy unknown', { ...limit, legacyPolicy: 'day' }, /`legacyPolicy`.*"day"/],
    [
      'legacyPolicy hidden',
      { policies: [policy, { ...policy, name: 'b', hidden: true }], legacyPolicy: 'b' },
      /`legacyPolicy`.*not hidden/,
    ],
    [
      'legacyPolicy without its headers',
      { ...limit, headers: 'draft-8', legacyPolicy: 'default' },
      /no `legacyPolicy` without/,
    ],
    ['a name no field can hold', { ...limit, name: 'größe', headers: 'draft-8' }, /`name`.*ASCII/],
    [
      'a limit no field can hold',
      { limit: 10 ** 15, window: '1m', headers: 'draft-8' },
      /`limit`.*999999999999999.*1000000000000000/,
    ],
    ['exposeHeaders a list', { ...limit, exposeHeaders: ['Date'] }, /`exposeHeaders`.*true/],
    ['body html', { ...limit, body: 'html' }, /`body`.*'problem'.*"html"/],
    [
      'body and message',
      { ...limit, body: () => '', message: () => '' },
      /no `message` beside a `body` function/,
    ],
    [
      'a policy hidden by a text',
      { policies: [{ ...policy, hidden: 'yes' }] },
      /policies\[0\]\.hidden/,
    ],
    [
      'a policy with status 200',
      { policies: [{ ...policy, statusCode: 200 }] },
      /policies\[0\]\.statusCode.*200/,
    ],
    ['message a text', { ...limit, message: 'No.' }, /`message`.*function/],
    ['statusCode 200', { ...limit, statusCode: 200 }, /`statusCode`.*200/],
    ['statusCode as a text', { ...limit, statusCode: '429' }, /`statusCode`/],
    ['handler true', { ...limit, handler: true }, /`handler`.*function/],
    ['store a map', { ...limit, store: new Map() }, /`store`/],
    ['onStoreError open', { ...limit, onStoreError: 'open' }, /`onStoreError`.*open/],
    ['instances 0', { ...limit, instances: 0 }, /`instances`.*0/],
    ['countPreflight yes', { ...limit, countPreflight: 'yes' }, /`countPreflight`.*yes/],
    ['onVerdict a list', { ...limit, onVerdict: [] }, /`onVerdict`.*function/],
    ['onEvent a text', { ...limit, onEvent: 'log' }, /`onEvent`.*function/],
    [
      'byIp with a prefix',
      {
        ...limit,
        get key() {
          return byIp({ ipv6Prefix: 0 });
        },
      },
      /ipv6Prefix/,
    ],
  ])('%s', (_, options, message) => {
    const make = (): unknown => new HttpLimiter(options as HttpLimiterOptions);
    expect(make).toThrow(expect.objectContaining({ name: 'FloodgateError' }));
    expect(make).toThrow(message);
  });
});

describe('options that are right are taken', () => {
  test.each<[string, HttpLimiterOptions]>([
    ['a limit and a window', { limit: 5, window: '1m' }],
    ['a limit of 0', { limit: 0, window: 60_000 }],
    ['a quota as a text', { quota: 'token-bucket 100 10/1s' }],
    ['a quota as numbers', { quota: { limit: 5, window: '1m', blockFor: '1h' } }],
    ['one policy', { policies: [{ name: '__proto__', quota: '5/1m' }] }],
    ['a cost of 0', { limit: 5, window: '1m', cost: 0 }],
    ['no headers', { limit: 5, window: '1m', headers: false }],
    ['a name beyond ASCII', { limit: 5, window: '1m', name: 'größe' }],
    [
      'a hidden one',
      { policies: [{ ...policy, name: 'größe', hidden: true }], headers: 'draft-8' },
    ],
    ['a large limit', { limit: 10 ** 15, window: '1m' }],
    ['three families', { limit: 5, window: '1m', headers: ['draft-7', 'legacy', 'draft-6'] }],
    ['a store', { limit: 5, window: '1m', store: new MemoryStore() }],
    ['several processes', { limit: 5, window: '1m', instances: 4, onStoreError: 'deny' }],
  ])('%s', (_, options) => {
    expect(() => new HttpLimiter(options)).not.toThrow();
  });

  test('an option that is undefined is one that was left out', () => {
    const options = {
      limit: 5,
      window: '1m',
      quota: undefined,
      policies: undefined,
      key: undefined,
    };
    expect(() => new HttpLimiter(options as unknown as HttpLimiterOptions)).not.toThrow();
  });
});
