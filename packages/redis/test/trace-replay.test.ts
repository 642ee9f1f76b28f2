import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { MemoryStore } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { perform } from './children/timelines.ts';
import { type Traced, toJson } from './children/trace.ts';

// Eight processes at one server, by its clock. What it answered, in the order in which it ran the calls, is what one
// memory store answers to the same calls at the same times.

const PROCESSES = 8;
const CALLS = Number(process.env.CALLS ?? 350);

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis();
});

afterAll(() => server.stop());

async function traceOf(seed: number): Promise<Traced[]> {
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
      env: { ...process.env, REDIS_URL: server.url, SEED: String(seed), CALLS: String(CALLS) },
      maxBuffer: 1e9,
    },
  );
  const lines = stdout.trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

test('every answer that eight processes got is the one that a memory store gives', async () => {
  const seeds = Array.from({ length: PROCESSES }, () => Math.floor(Math.random() * 2 ** 31));
  const trace = (await Promise.all(seeds.map(traceOf))).flat();
  trace.sort((a, b) => a.sequence - b.sequence || a.order - b.order);
  // None is missing, and none came twice.
  const sequences = [...new Set(trace.map(({ sequence }) => sequence))];
  expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  expect(new Set(trace.map(({ sequence, order }) => `${sequence}/${order}`)).size).toBe(
    trace.length,
  );
  // Many travelled together.
  expect(sequences.length).toBeLessThan(trace.length * 0.8);
  expect(trace.length).toBeGreaterThan(PROCESSES * CALLS * 0.9);

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
});
