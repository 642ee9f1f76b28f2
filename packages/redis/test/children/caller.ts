// Calls a store at random, by the server's clock, and prints each call with what came of it, as a line of JSON.
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { type Refund, toQuota } from '@floodgate/core';
import fc from 'fast-check';
import { Cluster, Redis } from 'ioredis';
import { RedisStore } from '../../src/index.ts';
import { type Call, callOf, perform, stepsIn, takenBy } from './timelines.ts';
import { toJson } from './trace.ts';
import { TracedClient, TracedCluster } from './traced-client.ts';

const { REDIS_URL = '', SEED, CALLS, CLUSTER_KEY } = process.env;

// Short, so that windows end, buckets fill and blocks are over many times in a second or two.
const QUOTAS = [
  ['fixed-window 6/40ms'],
  ['fixed-window 9/150ms align=first-request block=60ms'],
  ['sliding-window-log 60/120ms', 'sliding-window-log 20/120ms'],
  ['12/70ms block=20ms', '9/70ms'],
  ['token-bucket 8 3/10ms block=40ms'],
  ['leaky-bucket 9 5/25ms'],
  ['leaky-bucket 5 2/9ms shape=false'],
  // One policy, by turns.
  ['fixed-window 5/30ms', 'sliding-window-log 7/90ms', 'fixed-window 4/60ms align=first-request'],
];

const steps = fc.sample(
  stepsIn({
    quotas: QUOTAS.map((texts) => texts.map((text) => toQuota(text))),
    // On a cluster all of what a process does is in one slot: there it is in one order.
    keys: CLUSTER_KEY === undefined ? ['a', 'b'] : [CLUSTER_KEY],
    delays: fc.constantFrom(0, 0, 0, 0, 0, 1, 3, 9, 30),
    costs: fc.constantFrom(0, 1, 1, 1, 2, 5, 100),
    blocks: fc.constantFrom(0, 15, 80),
  }),
  { numRuns: Number(CALLS), seed: Number(SEED) },
);

/** Takes and refunds that come together travel in one call, in this order. */
interface Pending {
  readonly call: Call;
  readonly answer: ReturnType<typeof perform>;
}

const cluster = CLUSTER_KEY === undefined ? undefined : new Cluster([REDIS_URL]);
if (cluster !== undefined) await once(cluster, 'ready');
const client = cluster ?? new Redis(REDIS_URL);
const traced = cluster === undefined ? new TracedClient(client) : new TracedCluster(cluster);
const store = new RedisStore({ client: traced, timeout: '30s', localDenials: false });
const taken: Refund[] = [];
let together: Pending[] = [];

/** Waits for what came together, and prints it. */
async function print(): Promise<void> {
  const pending = together;
  together = [];
  for (const [order, { call, answer }] of pending.entries()) {
    const answered = await answer;
    const { sequence, timeMs } = traced;
    console.log(toJson({ sequence, order, timeMs, call, answer: answered }));
    taken.push(...takenBy(call, answered));
  }
}

for (const step of steps) {
  const isBatched = step.call === 'take' || step.call === 'refund';
  if (step.afterMs > 0 || !isBatched) await print();
  if (step.afterMs > 0) await setTimeout(step.afterMs);
  const call = callOf(step, taken);
  // Of none, nothing is sent.
  if (call.call === 'refund' && call.refunds.length === 0) continue;
  together.push({ call, answer: perform(store, call) });
  if (!isBatched) await print();
}
await print();
await client.quit();
