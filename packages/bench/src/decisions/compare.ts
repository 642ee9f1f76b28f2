import { type KeySource, keysUpTo, randomKeys } from '../keys.ts';
import { median } from '../statistics.ts';
import { reference } from './floors.ts';
import type { Contestant, Outcome, Subject } from './subject.ts';
import { subjectNamed } from './subjects.ts';

/** What one child process compares: some subjects with the reference. */
export interface CompareInput {
  readonly subjects: readonly string[];
  readonly keyCount: number;
  readonly rounds: number;
  /** How many batches of {@link BATCH_KEYS} decisions make a round. */
  readonly batches: number;
}

export interface Sample {
  readonly subject: string;
  readonly keys: number;
  readonly outcome: Outcome;
  /** For one decision. */
  readonly ns: number;
  /** To the reference: the median of what came out in each round, so that what slows a whole round down cancels. */
  readonly ratio: number;
}

/** Takes turns, round by round, and times each one's turn. */
export async function compare({
  subjects,
  keyCount,
  rounds,
  batches,
}: CompareInput): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const outcome of ['admitted', 'denied'] as const) {
    const turns: Turn[] = [];
    for (const subject of [reference, ...subjects.map(subjectNamed)]) {
      turns.push(await prepareTurn(subject, outcome, keyCount));
    }
    const nextKeys = randomKeys(keyCount);
    // What is timed must be compiled by then.
    for (let round = 0; round < Math.ceil(rounds / 4); round += 1) {
      for (const turn of turns) await timeTurn(turn.contestant, nextKeys, batches);
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const turn of turns) {
        turn.ns.push(await timeTurn(turn.contestant, nextKeys, batches));
      }
    }
    const referenceNs = (turns.shift() as Turn).ns;
    for (const { subject, contestant, ns } of turns) {
      contestant.close?.();
      samples.push({
        subject: subject.name,
        keys: keyCount,
        outcome,
        ns: median(ns),
        ratio: median(ns.map((one, round) => one / (referenceNs[round] as number))),
      });
    }
  }
  return samples;
}

interface Turn {
  readonly subject: Subject;
  readonly contestant: Contestant;
  /** For one decision, of each round. */
  readonly ns: number[];
}

/** Makes a contestant that knows all keys; that has denied each of them once, where it is to deny. */
async function prepareTurn(subject: Subject, outcome: Outcome, keyCount: number): Promise<Turn> {
  const contestant = subject.prepare({ outcome, keyCount });
  const passes = outcome === 'admitted' ? 1 : 2;
  for (let pass = 0; pass < passes; pass += 1) await contestant.decide(keysUpTo(keyCount));
  return { subject, contestant, ns: [] };
}

/**
 * In nanoseconds of processor time for one decision: what other programs do meanwhile does not count, what collects
 * its garbage does. Keys are new strings, as requests bring them; making them is not timed.
 */
async function timeTurn(
  { decide }: Contestant,
  nextKeys: KeySource,
  batches: number,
): Promise<number> {
  const batch = new Array<string>(BATCH_KEYS).fill('');
  let elapsedUs = 0;
  for (let i = 0; i < batches; i += 1) {
    nextKeys(batch);
    const start = process.cpuUsage();
    const deciding = decide(batch);
    if (deciding !== undefined) await deciding;
    const { user, system } = process.cpuUsage(start);
    elapsedUs += user + system;
  }
  return (elapsedUs * 1000) / (batches * BATCH_KEYS);
}

/** So few that the keys of a batch stay in the cache until they are used. */
const BATCH_KEYS = 4096;
