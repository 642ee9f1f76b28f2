// Ten million different keys through a store of 100,000, as requests come: some in each turn of the event loop.
// Prints what it saw as JSON. Needs --expose-gc.
import { openSync, readSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { type Decision, MemoryStore, slidingWindowCounter } from '../../src/index.ts';

const KEYS = 10_000_000;
const KEYS_PER_TURN = 200;

const store = new MemoryStore({ maxKeys: 100_000 });
const quota = slidingWindowCounter({ limit: 1, window: '1h' });
const onCpuMs = threadTime();

let sent = 0;
/** The longest that one turn held the loop; and the same with the time in which the machine ran something else. */
let heldMs = 0;
let longestTurnMs = 0;
let bytesAtMillion = 0;

take('denied before');
take('denied before');
store.block([{ policy: 'per-ip', key: 'blocked before' }], 3_600_000);
rest();

function turn(lastMs: number, lastOnCpuMs: number): void {
  const turnMs = performance.now() - lastMs;
  longestTurnMs = Math.max(longestTurnMs, turnMs);
  heldMs = Math.max(heldMs, Math.min(turnMs, onCpuMs() - lastOnCpuMs));

  for (let i = 0; i < KEYS_PER_TURN; i += 1) {
    sent += 1;
    take(`ip:${(sent >>> 16) & 255}.${(sent >>> 8) & 255}.${sent & 255}.${sent % 251}`);
  }
  if (sent === KEYS) {
    report();
  } else if (sent === 1_000_000) {
    bytesAtMillion = bytesInUse();
    setImmediate(rest);
  } else {
    rest();
  }
}

/** The next turn is measured from here: a collection that was asked for is not part of it. */
function rest(): void {
  setImmediate(turn, performance.now(), onCpuMs());
}

function report(): void {
  const bytesAtEnd = bytesInUse();
  const { size, dropped } = store;
  const stillDenied = !take('denied before').allowed;
  const stillBlocked = take('blocked before').blocked;
  const kept = { size, dropped, stillDenied, stillBlocked };
  console.log(JSON.stringify({ ...kept, bytesAtMillion, bytesAtEnd, heldMs, longestTurnMs }));
}

function take(key: string): Decision {
  return store.take([{ policy: 'per-ip', key, quota, cost: 1 }])[0] as Decision;
}

function bytesInUse(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** How long this thread has run, where the system says so; else the time that has passed. */
function threadTime(): () => number {
  if (process.platform !== 'linux') return () => performance.now();
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const text = Buffer.alloc(64);
  return () => {
    readSync(file, text, 0, text.length, 0);
    return Number.parseInt(text.toString('latin1'), 10) / 1e6;
  };
}
