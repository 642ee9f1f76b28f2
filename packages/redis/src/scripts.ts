/// <reference path="./lua.d.ts" />
import { createHash } from 'node:crypto';
import batch from './lua/batch.lua';
import block from './lua/block.lua';
import bucket from './lua/bucket.lua';
import carryOver from './lua/carry-over.lua';
import clock from './lua/clock.lua';
import exact from './lua/exact.lua';
import fixedWindow from './lua/fixed-window.lua';
import refund from './lua/refund.lua';
import reset from './lua/reset.lua';
import slidingWindowCounter from './lua/sliding-window-counter.lua';
import slidingWindowLog from './lua/sliding-window-log.lua';
import state from './lua/state.lua';
import take from './lua/take.lua';

/** A script as the server runs it. */
export interface Script {
  readonly source: string;
  /** What the server calls it, once it has seen it. */
  readonly sha: string;
}

/** One after the other: a file uses what those before it define. */
function script(...files: readonly string[]): Script {
  const source = files.join('\n');
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

const states = [exact, clock, state];

export const BATCH: Script = script(
  ...states,
  fixedWindow,
  slidingWindowLog,
  slidingWindowCounter,
  bucket,
  carryOver,
  take,
  refund,
  batch,
);
export const BLOCK: Script = script(...states, block);
export const RESET: Script = script(reset);
