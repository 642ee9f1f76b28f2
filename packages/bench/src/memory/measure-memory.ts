import { keysUpTo } from '../keys.ts';
import { memorySubjectNamed } from './memory-subjects.ts';

export interface MemoryInput {
  readonly subject: string;
  readonly keyCount: number;
}

export interface MemorySample {
  readonly subject: string;
  readonly keys: number;
  /** Beyond the key's own string, which its caller holds too. */
  readonly bytesPerKey: number;
}

/** What a limiter holds once it has met every key. Needs `--expose-gc`. */
export async function measureMemory({ subject, keyCount }: MemoryInput): Promise<MemorySample> {
  const keys = keysUpTo(keyCount);
  const before = usedBytes();
  const { prepare, meet } = memorySubjectNamed(subject);
  const contestant = prepare(keyCount);
  await meet(contestant, keys);
  const bytesPerKey = (usedBytes() - before) / keyCount;
  // Both must be alive until here.
  await contestant.decide(keys.slice(0, 1));
  return { subject, keys: keyCount, bytesPerKey };
}

function usedBytes(): number {
  // Twice: what the first collection finds to be finalized, the second frees.
  globalThis.gc?.();
  globalThis.gc?.();
  // `external` holds the `arrayBuffers` already.
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
