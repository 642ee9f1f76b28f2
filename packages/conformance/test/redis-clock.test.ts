import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { HttpLimiter, MemoryStore, onlyFailures } from '@floodgate/http';
import { RedisStore } from '@floodgate/redis';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Framework, frameworks } from './http/frameworks.ts';
import type { Place } from './http/scenario.ts';
import { answerOf, statusOf } from './redis/answer.ts';
import { type Options, serve } from './redis/serve.ts';

// As it is set up by default, by the clock of the Redis server, an app answers as it does by memory: each byte but those
// that say when. All of them, by the clock of the test, are in redis-scenarios.test.ts.

let redis: RedisServer;
let client: Redis;
beforeAll(async () => {
  redis = await startRedis();
  client = new Redis(redis.url);
  await once(client, 'ready');
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
});

interface Case {
  readonly name: string;
  readonly whole: Options;
  readonly others?: Partial<Readonly<Record<Place, Options>>>;
  /** The paths that are asked for, one after the other; or that the client is blocked, or no longer. */
  readonly steps: readonly (`/${string}` | 'block' | 'unblock')[];
  readonly statuses: readonly number[];
}

const HELLO = '/hello';
const THREE = 'fixed-window 3/1h align=first-request';
const headers: Options['headers'] = ['legacy', 'draft-8'];

const cases: readonly Case[] = [
  ...([
    THREE,
    'sliding-window-log 3/1h',
    'sliding-window-counter 3/1h',
    'token-bucket 3 1/1h',
    'leaky-bucket 3 1/1ms',
  ].map((quota) => ({
    name: `admitted and denied, by ${quota}`,
    whole: { quota, headers },
    steps: quota.startsWith('leaky') ? [HELLO] : Array<'/hello'>(5).fill(HELLO),
    statuses: quota.startsWith('leaky') ? [200] : [200, 200, 200, 429, 429],
  })) as Case[]),
  {
    name: 'several policies, of which one is denied',
    whole: {
      policies: [
        { name: 'hour', quota: 'sliding-window-log 2/1h' },
        { name: 'day', quota: 'token-bucket 100 1/1h' },
      ],
      headers,
    },
    steps: [HELLO, '/json', HELLO],
    statuses: [200, 200, 429],
  },
  {
    name: 'a cost',
    whole: { quota: 'token-bucket 10 1/1h', cost: 4, headers },
    steps: [HELLO, HELLO, HELLO],
    statuses: [200, 200, 429],
  },
  {
    name: 'only failures are kept',
    whole: { quota: THREE, settle: onlyFailures(), headers },
    steps: [HELLO, '/forbidden', HELLO, HELLO, '/nowhere', '/forbidden', HELLO],
    statuses: [200, 403, 200, 200, 404, 403, 429],
  },
  {
    name: 'a block by hand, and its end',
    whole: { name: 'all', quota: THREE, headers },
    steps: [HELLO, 'block', HELLO, 'unblock', HELLO],
    statuses: [200, 429, 200],
  },
  {
    name: "a limit of the app and one of a route: a denial uses nothing of the app's",
    whole: { name: 'all', quota: THREE, headers },
    others: {
      '/login': { name: 'login', quota: 'fixed-window 1/1h align=first-request', headers },
    },
    steps: ['/login', '/login', '/login', HELLO, HELLO, HELLO],
    statuses: [200, 429, 429, 200, 200, 429],
  },
  {
    name: 'plans',
    whole: {
      plans: { free: { perHour: THREE, perDay: 'token-bucket 50 1/1h' } },
      plan: async () => 'free',
      upgradeUrl: '/upgrade',
      headers,
    },
    steps: [HELLO, HELLO, HELLO, HELLO],
    statuses: [200, 200, 200, 429],
  },
];

describe.each(frameworks)('$framework', ({ framework }) => {
  test.each(cases)('$name', async (one) => {
    // However busy the machine is.
    const store = new RedisStore({ client, prefix: randomUUID(), timeout: '30s' });
    const answers = await answersOn(framework, store, one);
    expect(answers.map(statusOf)).toEqual(one.statuses);
    const inMemory = await answersOn(framework, new MemoryStore(), one);
    expect(answers.map(withoutTimes)).toEqual(inMemory.map(withoutTimes));
  });
});

async function answersOn(
  framework: Framework,
  store: NonNullable<Options['store']>,
  { whole, others, steps }: Case,
): Promise<string[]> {
  const { port, close } = await serve(framework, store, whole, others);
  const answers: string[] = [];
  try {
    for (const step of steps) {
      if (step === 'block') await new HttpLimiter({ ...whole, store }).block(KEY, '1h');
      else if (step === 'unblock') await new HttpLimiter({ ...whole, store }).unblock(KEY);
      else answers.push(await answerOf(port, step));
    }
  } finally {
    await close();
  }
  return answers;
}

const KEY = 'ip:127.0.0.1';

/** Without what depends on when it is said: dates, waits, the words for a wait, and how long these are. */
function withoutTimes(answer: string): string {
  return (
    answer
      .replace(/^((?:Date|Retry-After|X-RateLimit-Reset|Content-Length): ).*\r$/gim, '$1(some)\r')
      .replace(/;t=\d+/g, ';t=(some)')
      .replace(/"(retryAfter|resetAt)":\d+/g, '"$1":"(some)"')
      .replace(/Try again in [^."]*/g, 'Try again in (some)')
      // Express shows it while developing.
      .replace(/<pre>.*<\/pre>/, '')
  );
}
