import { type Contestant, limitFor, type Setup, type Subject, sink } from './subject.ts';

/** What a decision cannot do without, written for nothing but speed: the scale on which all others are measured. */

const clockAlone: Subject = {
  name: 'loop and Date.now()',
  kind: 'floor',
  prepare: () => ({
    decide: (keys) => {
      let sum = 0;
      for (let i = 0; i < keys.length; i += 1) sum += Date.now() + (keys[i] as string).length;
      sink.last = sum;
    },
  }),
};

const numberInMap: Subject = {
  name: 'one number in a Map, no clock',
  kind: 'floor',
  prepare: ({ outcome }) => {
    const limit = limitFor(outcome);
    const counts = new Map<string, number>();
    return {
      decide: (keys) => {
        let admitted = 0;
        for (let i = 0; i < keys.length; i += 1) {
          const key = keys[i] as string;
          const count = counts.get(key) ?? 0;
          if (count < limit) {
            counts.set(key, count + 1);
            admitted += 1;
          }
        }
        sink.last = admitted;
      },
    };
  },
};

/** A whole limiter: what all ratios refer to. */
export const reference: Subject = {
  name: 'bucket in a Map and a Float64Array',
  kind: 'floor',
  prepare: (setup) => {
    const take = makeBucket(setup);
    return {
      decide: (keys) => {
        for (let i = 0; i < keys.length; i += 1) sink.last = take(keys[i] as string);
      },
    };
  },
};

const awaited: Subject = {
  name: 'the same, awaited',
  kind: 'floor',
  prepare: (setup): Contestant => {
    const take = makeBucket(setup);
    return {
      decide: async (keys) => {
        for (let i = 0; i < keys.length; i += 1) sink.last = await take(keys[i] as string);
      },
    };
  },
};

export const floors: readonly Subject[] = [clockAlone, numberInMap, reference, awaited];

interface BucketDecision {
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetMs: number;
}

/** A token bucket that checks nothing, forgets nothing and holds two numbers a key. */
function makeBucket({ outcome, keyCount }: Setup): (key: string) => BucketDecision {
  const limit = limitFor(outcome);
  const tokensPerMs = outcome === 'admitted' ? 1 : 1e-9;
  const slots = new Map<string, number>();
  const state = new Float64Array(2 * keyCount);
  return (key) => {
    const nowMs = Date.now();
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = slots.size * 2;
      slots.set(key, slot);
    }
    const sinceMs = state[slot + 1] as number;
    const before = Math.max(0, (state[slot] as number) - (nowMs - sinceMs) * tokensPerMs);
    const used = before + 1;
    if (used > limit) {
      return {
        limit,
        remaining: 0,
        retryAfterMs: Math.ceil((used - limit) / tokensPerMs),
        resetMs: Math.ceil(before / tokensPerMs),
      };
    }
    state[slot] = used;
    state[slot + 1] = nowMs;
    return {
      limit,
      remaining: Math.floor(limit - used),
      retryAfterMs: 0,
      resetMs: Math.ceil(used / tokensPerMs),
    };
  };
}
