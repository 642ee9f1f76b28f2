import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { MemoryStore, type Mode, onlyFailures } from '@floodgate/http';
import { describe, expect, test } from '@jest/globals';
import { makeApp } from './http/apps/make-app.ts';
import { type Framework, frameworks } from './http/frameworks.ts';
import type { Limiter, Options } from './http/scenario.ts';

// In shadow mode not one byte differs from an app that has no limiter at all, and `onVerdict` sees every request.

const PATHS = [
  '/hello',
  '/json',
  '/users/1',
  '/stream',
  '/raw',
  '/not-modified',
  '/empty',
  '/cached',
  '/forbidden',
  '/boom',
  '/nowhere',
];

const HEADERS: Options['headers'] = ['legacy', 'draft-6', 'draft-7'];

/** Each made anew: what they hold is of one app. */
const SHADOWS: readonly [string, () => Options][] = [
  [
    'a limit that denies all',
    () => ({ limit: 0, window: '1m', headers: HEADERS, exposeHeaders: true }),
  ],
  ['a bucket that would hold requests back', () => ({ quota: 'leaky-bucket 1 1/1h' })],
  [
    'failures that would block',
    () => ({ quota: 'fixed-window 1/1h block=1h', settle: onlyFailures(), body: 'problem' }),
  ],
  [
    'plans',
    () => ({
      plans: { free: { perMinute: '0/1m', perDay: '1/1d' } },
      plan: async () => 'free',
      upgradeUrl: '/upgrade',
    }),
  ],
  [
    'a policy whose store fails and which would deny then',
    () => ({ quota: '1/1m', store: failingStore(), onStoreError: 'deny', onEvent: () => {} }),
  ],
  [
    'a mode that is found for each request',
    () => ({ limit: 0, window: '1m', mode: async (): Promise<Mode> => 'shadow' }),
  ],
];

describe.each(frameworks)('$framework', ({ framework }) => {
  test.each(SHADOWS)('%s', async (_, optionsOf) => {
    let verdicts = 0;
    const onVerdict = (): void => {
      verdicts += 1;
    };
    const bare = await answers(framework, []);
    const limiter = {
      on: ['app' as const],
      options: { mode: 'shadow' as const, ...optionsOf(), onVerdict },
      handler: false,
    };
    expect(await answers(framework, [limiter])).toEqual(bare);
    expect(verdicts).toBe(PATHS.length * 2);
  });

  test('beside a limiter that enforces', async () => {
    const enforced = {
      on: ['app' as const],
      options: { name: 'all', quota: '100/1h' },
      handler: false,
    };
    const watched = {
      on: ['/hello' as const, '/json' as const],
      options: { name: 'watched', quota: '0/1m', mode: 'shadow' as const, exposeHeaders: true },
      handler: false,
    };
    expect(await answers(framework, [enforced, watched])).toEqual(
      await answers(framework, [enforced]),
    );
  });
});

/** All bytes that an app answers with, each path asked twice, but for the date. */
async function answers(
  framework: Framework,
  limiters: readonly Required<Limiter>[],
): Promise<string[]> {
  const common = { store: new MemoryStore({ clock: { now: () => 1_771_416_000_000 } }) };
  const app = await makeApp[framework]({
    trust: 'none',
    before: {},
    common: { ...common, onEvent: () => {} },
    limiters,
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const all: string[] = [];
  for (const path of [...PATHS, ...PATHS]) {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    all.push(comparable(await text(socket)));
  }
  server.close();
  await once(server, 'close');
  return all;
}

/** Without the date, and without the stack that Express shows while developing: the limiter is on it. */
function comparable(answer: string): string {
  const undated = answer.replace(/^Date: .*\r\n/m, '');
  const stack = /<pre>.*<\/pre>/;
  if (!stack.test(undated)) return undated;
  return undated.replace(stack, '').replace(/^Content-Length: .*\r\n/m, '');
}

/** A store behind a network that is not there. */
function failingStore(): NonNullable<Options['store']> {
  const fail = async (): Promise<never> => {
    throw new Error('No network');
  };
  return { take: fail, refund: fail, block: fail, reset: fail, close: fail };
}
