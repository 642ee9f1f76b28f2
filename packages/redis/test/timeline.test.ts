import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { type FloodgateEvent, RateLimiter, type StoreErrorRule } from '@floodgate/core';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RedisStore } from '../src/index.ts';
import { ioredis6, nodeRedis6, type OpenClient } from './clients.ts';

const TIMEOUT_MS = 100;
const REQUESTS_PER_SECOND = 50;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Requests that come whatever became of those before, and what became of them. */
class Load {
  readonly events: FloodgateEvent[] = [];
  readonly results: { atMs: number; tookMs: number; shared: boolean; allowed: boolean }[] = [];
  readonly #limiter: RateLimiter<RedisStore>;
  readonly #pending: Promise<void>[] = [];

  constructor({ client }: OpenClient, onStoreError: StoreErrorRule) {
    this.#limiter = new RateLimiter({
      store: new RedisStore({ client, timeout: TIMEOUT_MS, prefix: onStoreError }),
      policies: [{ name: 'a', quota: '1000000/1h' }],
      onStoreError,
      onEvent: (event) => this.events.push(event),
    });
  }

  request(): void {
    this.#pending.push(this.#request());
  }

  async #request(): Promise<void> {
    const atMs = performance.now();
    const { allowed, degraded } = await this.#limiter.take('k');
    const shared = degraded === undefined;
    this.results.push({ atMs, tookMs: performance.now() - atMs, shared, allowed });
  }

  /** Rejects if a single one did. */
  async end(): Promise<void> {
    await Promise.all(this.#pending);
    await this.#limiter.close();
  }

  /** How long after `atMs` the first decision was Redis's own. */
  sharedAfterMs(atMs: number): number {
    const first = this.results.find((result) => result.atMs > atMs && result.shared);
    return (first?.atMs ?? Number.POSITIVE_INFINITY) - atMs;
  }

  between(fromMs: number, toMs: number) {
    return this.results.filter(({ atMs }) => atMs > fromMs && atMs < toMs);
  }
}

const rules = ['local', 'allow', 'deny'] as const;
// Left alone, both libraries wait longer and longer, for seconds in the end.
const kinds = [
  ioredis6('', { retryStrategy: () => 100 }),
  nodeRedis6('', { socket: { reconnectStrategy: 100 } }),
];

test('up, down, up, hanging, restarted empty: every request is decided, in time, and counts are soon shared again', async () => {
  const clients = await Promise.all(kinds.map((kind) => kind.open(server)));
  const loads = rules.flatMap((rule) =>
    clients.map((client) => ({ rule, load: new Load(client, rule) })),
  );
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  const timer = setInterval(() => {
    for (const { load } of loads) load.request();
  }, 1000 / REQUESTS_PER_SECOND);

  await setTimeout(1000);
  const downAtMs = performance.now();
  await server.crash();
  await setTimeout(2000);
  await server.start();
  const upAtMs = performance.now();
  await setTimeout(2000);
  const hangsAtMs = performance.now();
  server.pause();
  await setTimeout(2000);
  const killedAtMs = performance.now();
  await server.restart();
  const emptyAtMs = performance.now();
  await setTimeout(1500);
  clearInterval(timer);
  for (const { load } of loads) await load.end();
  delays.disable();
  for (const { close } of clients) close();

  // What the process itself was held up by is not Redis's doing, nor the limiter's.
  const heldUpMs = delays.max / 1e6;
  for (const { rule, load } of loads) {
    const slowest = Math.max(...load.results.map(({ tookMs }) => tookMs));
    expect(slowest).toBeLessThan(TIMEOUT_MS + 50 + heldUpMs);
    for (const [from, to] of [
      [downAtMs + 50, upAtMs - 200],
      [hangsAtMs + 50, killedAtMs],
    ] as const) {
      const decided = load.between(from, to);
      expect(decided.length).toBeGreaterThan(10);
      for (const { shared, allowed } of decided) {
        expect(shared).toBe(false);
        expect(allowed).toBe(rule !== 'deny');
      }
    }
    expect(load.sharedAfterMs(upAtMs)).toBeLessThan(1000 + heldUpMs);
    expect(load.sharedAfterMs(emptyAtMs)).toBeLessThan(1000 + heldUpMs);
    expect(load.results.at(-1)?.shared).toBe(true);
    // One for each change, of hundreds of requests that met it; a busy machine may make a change or two of its own.
    const codes = load.events.map(({ code }) => code);
    expect(codes.length).toBeLessThanOrEqual(8);
    expect(codes).toEqual(codes.map((_, i) => (i % 2 === 0 ? 'degraded' : 'recovered')));
  }
});
