import { type Clock, sleep } from './clock.ts';
import { FloodgateError } from './errors.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { giveBack, type Verdict } from './verdict.ts';

export interface Waiting {
  readonly take: () => MaybePromise<Verdict>;
  /** The clock of the policy that is waited for. */
  readonly clockOf: (verdict: Verdict) => Clock | undefined;
  readonly signal: AbortSignal | undefined;
  readonly maxWaitMs: number;
}

/** Takes until it is admitted and its turn has come. Who gives up keeps no units. */
export async function waitForAdmission(waiting: Waiting): Promise<Verdict> {
  const { take, clockOf, signal } = waiting;
  let leftMs = waiting.maxWaitMs;
  for (;;) {
    signal?.throwIfAborted();
    const verdict = await take();
    if (signal?.aborted === true) {
      await giveBack(verdict);
      throw signal.reason;
    }
    const waitMs = verdict.allowed ? verdict.delayMs : verdict.retryAfterMs;
    if (waitMs > leftMs || waitMs === Number.POSITIVE_INFINITY) {
      await giveBack(verdict);
      throw tooLong(verdict, waitMs, leftMs);
    }
    leftMs -= waitMs;
    if (waitMs > 0) await sleep(clockOf(verdict), waitMs, signal);
    if (verdict.allowed) return verdict;
  }
}

function tooLong({ tightest }: Verdict, waitMs: number, leftMs: number): FloodgateError {
  const never = waitMs === Number.POSITIVE_INFINITY;
  return new FloodgateError(
    never ? 'FLOODGATE_NEVER_ADMITTED' : 'FLOODGATE_WAIT_TOO_LONG',
    never
      ? `A cost of ${tightest.cost} is never admitted: the limit of policy \`${tightest.policy}\` is ${tightest.limit}`
      : `Policy \`${tightest.policy}\` admits this in ${waitMs} ms, more than the ${leftMs} ms left of \`maxWait\``,
    { retryAfterMs: waitMs },
  );
}
