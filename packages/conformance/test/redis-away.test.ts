import { once } from 'node:events';
import { RedisStore } from '@floodgate/redis';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Framework, frameworks } from './http/frameworks.ts';
import { answerOf, statusesOf, statusOf } from './redis/answer.ts';
import { type Options, type Served, serve } from './redis/serve.ts';

// While Redis is away, `onStoreError` decides what each framework answers, and never is it 500.

const TIMEOUT_MS = 100;
/** What a busy machine may add to that. */
const TOLERANCE_MS = 1000;
const QUOTA = 'fixed-window 3/1h align=first-request';

let redis: RedisServer;
let client: Redis;
let served: Served | undefined;
beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  client = new Redis(redis.url, { disconnectTimeout: 1 });
  client.on('error', () => {});
  await once(client, 'ready');
});
afterEach(async () => {
  client.disconnect();
  await served?.close();
  served = undefined;
  await redis.restart();
});
afterAll(() => redis.stop());

/** An app with this limiter. */
async function start(framework: Framework, options: Options): Promise<number> {
  served = await serve(framework, new RedisStore({ client, timeout: TIMEOUT_MS }), options);
  return served.port;
}

/** Ends Redis, and waits until the client has noticed. */
async function crash(): Promise<void> {
  const noticed = once(client, 'close');
  await redis.crash();
  await noticed;
}

describe.each(frameworks)('$framework', ({ framework }) => {
  test("that is gone, and 'allow': everything is served", async () => {
    const port = await start(framework, { quota: QUOTA, onStoreError: 'allow' });
    await crash();
    expect(await statusesOf(6, port)).toEqual([200, 200, 200, 200, 200, 200]);
    // Nobody knows what is left.
    expect(await answerOf(port)).not.toMatch(/ratelimit/i);
  });

  test("that is gone, and 'deny': 503, with a code, and when to try again", async () => {
    const port = await start(framework, { quota: QUOTA, onStoreError: 'deny' });
    expect(await statusesOf(1, port)).toEqual([200]);
    await crash();
    const answer = await answerOf(port);
    expect(statusOf(answer)).toBe(503);
    expect(answer).toMatch(/^Retry-After: 1\r$/im);
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toEqual({
      error: {
        code: 'RATE_LIMITER_UNAVAILABLE',
        message: 'The rate limiter is unavailable. Try again in 1 second.',
        retryAfter: 1,
      },
    });
    expect(answer).not.toMatch(/ratelimit-|undefined|NaN/i);
  });

  test("that is gone, and 'local': the limit holds, in memory", async () => {
    const port = await start(framework, {
      quota: QUOTA,
      onStoreError: 'local',
      headers: ['legacy', 'draft-8'],
    });
    await crash();
    expect(await statusesOf(5, port)).toEqual([200, 200, 200, 429, 429]);
  });

  test.each([
    ['allow', 'local', [200, 200, 200, 429]],
    ['allow', 'deny', [503, 503, 503, 503]],
    ['local', 'deny', [503, 503, 503, 503]],
    ['allow', 'allow', [200, 200, 200, 200]],
  ] as const)(
    "that is gone, one policy '%s' and one '%s': the stricter one counts",
    async (first, second, statuses) => {
      const port = await start(framework, {
        policies: [
          { name: 'first', quota: QUOTA, onStoreError: first },
          { name: 'second', quota: QUOTA, onStoreError: second },
        ],
      });
      await crash();
      expect(await statusesOf(4, port)).toEqual(statuses);
    },
  );

  test.each([
    ['allow', [200, 200, 200, 200, 200, 200, 200, 200]],
    ['deny', [503, 503, 503, 503, 503, 503, 503, 503]],
    ['local', [200, 200, 200, 429, 429, 429, 429, 429]],
  ] as const)(
    "that hangs, and '%s': it is waited for until its time is over, and no longer",
    async (onStoreError, statuses) => {
      const port = await start(framework, { quota: QUOTA, onStoreError });
      redis.pause();
      const came: number[] = [];
      for (let i = 0; i < statuses.length; i += 1) {
        const startedAt = performance.now();
        came.push(...(await statusesOf(1, port)));
        expect(performance.now() - startedAt).toBeLessThan(TIMEOUT_MS + TOLERANCE_MS);
      }
      expect(came).toEqual(statuses);
    },
  );

  test('that comes back counts again', async () => {
    const port = await start(framework, { quota: QUOTA, onStoreError: 'deny' });
    expect(await statusesOf(1, port)).toEqual([200]);
    await crash();
    expect(await statusesOf(1, port)).toEqual([503]);
    const ready = once(client, 'ready');
    await redis.restart();
    await ready;
    expect(await statusesOf(4, port)).toEqual([200, 200, 200, 429]);
  });
});
