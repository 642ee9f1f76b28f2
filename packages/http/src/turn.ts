import type { Clock } from '@floodgate/core';
import { sleep } from '@floodgate/core/internal';
import type { RequestView } from './request-view.ts';

/**
 * Holds a request back until its turn, by the clock of the store that gave it. Answers false, at once and with
 * nothing left behind, when the client goes away before.
 */
export async function waitForTurn<Request>(
  view: RequestView<Request>,
  clock: Clock | undefined,
  delayMs: number,
): Promise<boolean> {
  if (view.isClosed) return false;
  const controller = new AbortController();
  const stopListening = view.onClose(() => controller.abort());
  try {
    await sleep(clock, delayMs, controller.signal);
    return true;
  } catch (error) {
    if (controller.signal.aborted) return false;
    throw error;
  } finally {
    stopListening();
  }
}
