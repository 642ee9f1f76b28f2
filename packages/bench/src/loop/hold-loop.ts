import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { subjectNamed } from '../decisions/subjects.ts';
import { keyOf } from '../keys.ts';

export interface LoopInput {
  /** Absent for a loop that makes the keys and does nothing with them: what the machine itself does to it. */
  readonly subject: string | undefined;
  /** How many different keys come, one after the other. */
  readonly arrivals: number;
  /** How many the subject has room for. */
  readonly room: number;
}

export interface LoopSample extends Omit<LoopInput, 'subject'> {
  readonly subject: string;
  /**
   * The longest time from one turn of the event loop to the next: of each turn the lesser of the time that passed and
   * the processor time that this process used, since other programs may have had the processor meanwhile.
   */
  readonly longestMs: number;
  readonly longestCollectionMs: number;
}

/** Lets keys come in as many turns as a busy server would take, and watches how late each turn is. */
export async function holdLoop({ subject, arrivals, room }: LoopInput): Promise<LoopSample> {
  const contestant =
    subject === undefined
      ? { decide: () => undefined }
      : subjectNamed(subject).prepare({ outcome: 'admitted', keyCount: room });
  const collections = watchCollections();
  const batch = new Array<string>(KEYS_PER_TURN).fill('');
  let longestMs = 0;
  let last = readTimes();
  for (let arrived = 0; arrived < arrivals; arrived += KEYS_PER_TURN) {
    for (let i = 0; i < KEYS_PER_TURN; i += 1) batch[i] = keyOf(arrived + i);
    await contestant.decide(batch);
    await setImmediate();
    const now = readTimes();
    longestMs = Math.max(longestMs, Math.min(now.wallMs - last.wallMs, now.cpuMs - last.cpuMs));
    last = now;
  }
  return {
    subject: subject ?? NOTHING,
    arrivals,
    room,
    longestMs,
    longestCollectionMs: await collections.longestMs(),
  };
}

const NOTHING = 'nothing';

/** A busy server reads some tens of requests in a turn. */
const KEYS_PER_TURN = 64;

function readTimes(): { wallMs: number; cpuMs: number } {
  const { user, system } = process.cpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1000 };
}

function watchCollections(): { longestMs: () => Promise<number> } {
  let longestMs = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestMs = Math.max(longestMs, duration);
  });
  observer.observe({ entryTypes: ['gc'] });
  return {
    longestMs: async () => {
      // Entries are delivered in a turn of their own.
      await setImmediate();
      await setImmediate();
      observer.disconnect();
      return longestMs;
    },
  };
}
