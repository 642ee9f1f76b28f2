import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { MemoryStore } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { startCluster, startRedis } from '@floodgate/test-redis';
import { expect, test } from '@jest/globals';
import { perform } from './children/timelines.ts';
import { type Traced, toJson } from './children/trace.ts';

// Many processes at one server, by its clock. What it answered, in the order in which it ran the calls, is what one memory
// store answers to the same calls at the same times.

const PROCESSES = 8;
const CALLS = Number(process.env.CALLS ?? 350);

async function traceOf(env: Record<string, string>): Promise<Traced[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--conditions=@floodgate/source',
      `--import=${pathToFileURL(join(__dirname, '../../../scripts/lua.mjs'))}`,
      '--import=tsx',
      join(__dirname, 'children/caller.ts'),
    ],
    {
      cwd: join(__dirname, '..'),
      env: { ...process.env, SEED: String(randomInt(2 ** 31)), CALLS: String(CALLS), ...env },
      maxBuffer: 1e9,
    },
  );
  const lines = stdout.trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** What so many processes did at the same time. */
async function traceOfSeveral(processes: number, env: Record<string, string>): Promise<Traced[]> {
  return (await Promise.all(Array.from({ length: processes }, () => traceOf(env)))).flat();
}

function expectReplayed(trace: Traced[], processes: number): void {
  trace.sort((a, b) => a.sequence - b.sequence || a.order - b.order);
  // None is missing, and none came twice.
  const sequences = [...new Set(trace.map(({ sequence }) => sequence))];
  expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  expect(new Set(trace.map(({ sequence, order }) => `${sequence}/${order}`)).size).toBe(
    trace.length,
  );
  // Many travelled together.
  expect(sequences.length).toBeLessThan(trace.length * 0.8);
  expect(trace.length).toBeGreaterThan(processes * CALLS * 0.9);

  const clock = new ManualClock();
  const memory = new MemoryStore({ clock });
  const replayed = trace.map((traced) => {
    if (traced.timeMs > 0) clock.set(traced.timeMs);
    return { ...traced, answer: perform(memory, traced.call) };
  });
  // The first that differs says more than all of them.
  const differing = replayed.findIndex((one, index) => toJson(one) !== toJson(trace[index]));
  expect(trace[differing]).toEqual(replayed[differing] && JSON.parse(toJson(replayed[differing])));

  const decisions = trace.flatMap(({ answer }) => (answer ?? []) as { allowed: boolean }[]);
  const admitted = decisions.filter(({ allowed }) => allowed).length;
  expect(admitted).toBeGreaterThan(decisions.length / 10);
  expect(admitted).toBeLessThan((decisions.length * 9) / 10);
}

test('every answer that eight processes got is the one that a memory store gives', async () => {
  const server = await startRedis();
  try {
    expectReplayed(await traceOfSeveral(PROCESSES, { REDIS_URL: server.url }), PROCESSES);
  } finally {
    await server.stop();
  }
}, 120_000);

test('so is every one that they got of a cluster, at two of its slots', async () => {
  const cluster = await startCluster();
  try {
    const [node] = cluster.nodes;
    const traces = ['a', 'b'].map((key) =>
      traceOfSeveral(2, { REDIS_URL: node?.url ?? '', CLUSTER_KEY: key }),
    );
    for (const trace of await Promise.all(traces)) expectReplayed(trace, 2);
  } finally {
    await cluster.stop();
  }
}, 120_000);
