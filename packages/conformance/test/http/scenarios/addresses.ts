import { byIp, fromAddresses } from '@floodgate/http';
import { answered, denied, get, legacy, served, THREE, via } from '../notation.ts';
import type { AnyRequest, Scenario } from '../scenario.ts';

const UNTRUSTED = 'warning: A request has a forwarded address, but the framework trusts no proxy';
const WITHOUT_ADDRESS = 'warning: A request came from a trusted proxy without X-Forwarded-For';
const ALL_TRUSTED = 'warning: The framework believes every forwarded address';
const NO_RANGES = { koa: 'Koa counts proxies, and has no ranges of addresses' };

export const addresses: readonly Scenario[] = [
  {
    name: 'whatever a client writes, it is one client where no proxy is trusted',
    limiters: [{ options: { quota: 'fixed-window 5/1m' } }],
    steps: [
      [get('/key'), served(legacy(5, 4, 60), 'ip:127.0.0.1')],
      [via('1.1.1.1'), served(legacy(5, 3, 60), 'ip:127.0.0.1')],
      [via('1.1.1.2, 1.1.1.3'), served(legacy(5, 2, 60), 'ip:127.0.0.1')],
      [
        get('/key', { 'x-real-ip': '1.1.1.4', 'x-client-ip': '1.1.1.5' }),
        served(legacy(5, 1, 60), 'ip:127.0.0.1'),
      ],
      [
        get('/key', { forwarded: 'for=1.1.1.6', host: 'evil:x@good' }),
        served(legacy(5, 0, 60), 'ip:127.0.0.1'),
      ],
      [via('1.1.1.7'), denied(60, legacy(5, 0, 60))],
    ],
    events: [UNTRUSTED],
  },
  {
    name: 'behind one proxy, what the proxy added counts, and nothing that was there before',
    trust: 'one-hop',
    limiters: [THREE],
    steps: [
      [via('203.0.113.9'), served(legacy(3, 2, 60), 'ip:203.0.113.9')],
      [via('6.6.6.6, 203.0.113.9'), served(legacy(3, 1, 60), 'ip:203.0.113.9')],
      [via('6.6.6.6, 7.7.7.7, 203.0.113.9'), served(legacy(3, 0, 60), 'ip:203.0.113.9')],
      [via('203.0.113.10, 203.0.113.9'), denied(60, legacy(3, 0, 60))],
      [via('203.0.113.10'), served(legacy(3, 2, 60), 'ip:203.0.113.10')],
    ],
  },
  {
    name: "behind one proxy, a request without a forwarded address is the proxy's own",
    trust: 'one-hop',
    limiters: [THREE],
    steps: [
      [get('/key', { 'x-real-ip': '1.1.1.1' }), served(legacy(3, 2, 60), 'ip:127.0.0.1')],
      [get('/key', { 'x-real-ip': '1.1.1.2' }), served(legacy(3, 1, 60), 'ip:127.0.0.1')],
    ],
    events: [WITHOUT_ADDRESS],
  },
  {
    name: 'behind proxies of a range, the first address from the right that is none of them',
    trust: 'loopback',
    limiters: [THREE],
    steps: [
      [via('6.6.6.6, 203.0.113.9'), served(legacy(3, 2, 60), 'ip:203.0.113.9')],
      [via('6.6.6.7, 203.0.113.9, 127.0.0.5'), served(legacy(3, 1, 60), 'ip:203.0.113.9')],
    ],
    except: NO_RANGES,
  },
  {
    name: 'whoever is not of the trusted range is taken for the client',
    trust: 'elsewhere',
    limiters: [THREE],
    steps: [
      [via('203.0.113.9'), served(legacy(3, 2, 60), 'ip:127.0.0.1')],
      [via('203.0.113.10'), served(legacy(3, 1, 60), 'ip:127.0.0.1')],
    ],
    except: NO_RANGES,
  },
  {
    name: 'where everybody is trusted, clients choose their address, and the operator is told so',
    trust: 'all',
    limiters: [THREE],
    steps: [
      [via('6.6.6.6, 203.0.113.9'), served(legacy(3, 2, 60), 'ip:6.6.6.6')],
      [via('7.7.7.7, 203.0.113.9'), served(legacy(3, 2, 60), 'ip:7.7.7.7')],
    ],
    events: [ALL_TRUSTED],
  },
  {
    name: 'one address is one client, however it is written',
    trust: 'one-hop',
    limiters: [{ options: { quota: 'fixed-window 6/1m' } }],
    steps: [
      [via('203.0.113.7'), served(legacy(6, 5, 60), 'ip:203.0.113.7')],
      [via('203.0.113.7:51234'), served(legacy(6, 4, 60), 'ip:203.0.113.7')],
      [via('203.0.113.7:51235'), served(legacy(6, 3, 60), 'ip:203.0.113.7')],
      [via('::ffff:203.0.113.7'), served(legacy(6, 2, 60), 'ip:203.0.113.7')],
      [via('::FFFF:CB00:7107'), served(legacy(6, 1, 60), 'ip:203.0.113.7')],
      [via('0:0:0:0:0:ffff:203.0.113.7'), served(legacy(6, 0, 60), 'ip:203.0.113.7')],
      [via('[::ffff:203.0.113.7]:80'), denied(60, legacy(6, 0, 60))],
      [via('::ffff:203.0.113.8'), served(legacy(6, 5, 60), 'ip:203.0.113.8')],
    ],
  },
  {
    name: 'an IPv6 address counts by its /56',
    trust: 'one-hop',
    limiters: [THREE],
    steps: [
      [via('2001:db8:0:ab12::1'), served(legacy(3, 2, 60), 'ip:2001:db8:0:ab00::/56')],
      [via('2001:DB8:0:ABFF:9:9:9:9'), served(legacy(3, 1, 60), 'ip:2001:db8:0:ab00::/56')],
      [via('[2001:db8:0:ab00::7]:443'), served(legacy(3, 0, 60), 'ip:2001:db8:0:ab00::/56')],
      [via('2001:db8:0:abcd::1'), denied(60, legacy(3, 0, 60))],
      [via('2001:db8:0:ac00::1'), served(legacy(3, 2, 60), 'ip:2001:db8:0:ac00::/56')],
    ],
  },
  {
    name: 'what is no address is nobody: no key, and no bucket for all of them',
    trust: 'one-hop',
    limiters: [THREE],
    steps: [
      [via('unknown'), answered(500)],
      [via('999.1.1.1'), answered(500)],
      [via('203.0.113.9'), served(legacy(3, 2, 60), 'ip:203.0.113.9')],
    ],
  },
  {
    name: 'byIp counts by the prefix that it is given, or by another source',
    limiters: [
      {
        options: {
          quota: 'fixed-window 3/1m',
          key: byIp({
            ipv6Prefix: 128,
            from: ({ headers }: AnyRequest) => headers['x-peer'] as string,
          }),
        },
      },
    ],
    steps: [
      [get('/key', { 'x-peer': '2001:DB8::1' }), served(legacy(3, 2, 60), 'ip:2001:db8::1')],
      [
        get('/key', { 'x-peer': '2001:db8:0:0:0:0:0:1' }),
        served(legacy(3, 1, 60), 'ip:2001:db8::1'),
      ],
      [get('/key', { 'x-peer': 'nobody' }), answered(500)],
    ],
  },
  {
    name: 'skip leaves out addresses: they are not counted, not limited, and told nothing',
    trust: 'one-hop',
    limiters: [
      { options: { quota: 'fixed-window 0/1m', skip: fromAddresses(['10.0.0.0/8', '::1']) } },
    ],
    steps: [
      [via('10.1.2.3', '/hello'), served({}, 'hello')],
      [via('::ffff:10.1.2.3', '/hello'), served({}, 'hello')],
      [via('::1', '/hello'), served({}, 'hello')],
      [via('11.1.2.3', '/hello'), denied(undefined, legacy(0, 0))],
      [via('::2', '/hello'), denied(undefined, legacy(0, 0))],
    ],
  },
];
