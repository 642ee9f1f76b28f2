import { ChargeLog, emptyState, type Shape, type State } from '@floodgate/core/internal';

/** A state, and what it knows of the quota that made it. */
export interface Known {
  state: State;
  /** `undefined` where nothing but a block is known, or nothing at all. */
  shape: Shape | undefined;
}

/** Reads a state as `lua/state.lua` writes it; what is none is that of a subject never seen. */
export function readState(text: string): Known {
  const state = emptyState();
  const fields = FORMAT.exec(text);
  if (fields === null) return { state, shape: undefined };
  const [, letter = '', period, at, used, earlier, blocked, behind, entries = ''] = fields;
  state.blockedUntilMs = Number(blocked);
  state.behindSinceMs = Number(behind);
  const algorithm = ALGORITHMS[letter];
  if (algorithm === undefined) return { state, shape: undefined };
  state.atMs = Number(at);
  if (algorithm === 'sliding-window-log') {
    state.log = readLog(entries);
    state.used = state.log.unitsFrom(0);
  } else {
    state.used = Number(used);
    state.earlier = Number(earlier);
  }
  return { state, shape: { algorithm, periodMs: Number(period), byClock: letter !== 'r' } };
}

/** Numbers that are left out are 0. */
const FORMAT = /^1([a-z]);(\d+);(\d+);(\d+);?(-?\d*);?(\d*);?(\d*);?(\d*)/;

const ALGORITHMS: Readonly<Record<string, Shape['algorithm']>> = {
  f: 'fixed-window',
  r: 'fixed-window',
  l: 'sliding-window-log',
  c: 'sliding-window-counter',
  t: 'token-bucket',
  k: 'leaky-bucket',
};

const ENTRY = /(\d{16})(\d{16})/g;

function readLog(entries: string): ChargeLog {
  let log = ChargeLog.empty;
  for (const [, time, cost] of entries.matchAll(ENTRY)) {
    log = log.add(0, Number(time), Number(cost));
  }
  return log;
}
