import { messageOf } from './errors.ts';
import { isPromise } from './maybe-promise.ts';

/** What a limiter tells its operator, apart from verdicts. */
export interface FloodgateEvent {
  /**
   * - `degraded`: a store fails, and `onStoreError` decides from here on. Once, not for each request.
   * - `recovered`: that store answers again.
   * - `keys-dropped`: a memory store had to forget subjects that still counted. The first time, and each time their
   *   number has doubled.
   * - `settle-failed`: a true cost, or a charge to be given back, could not be written.
   * - `warning`: something that is likely a mistake in the set-up, or a hook that threw.
   */
  readonly code: 'degraded' | 'recovered' | 'keys-dropped' | 'settle-failed' | 'warning';
  /** What happened and what to do about it, in a sentence. Holds no key. */
  readonly message: string;
  /** What was thrown, where something was. */
  readonly error?: unknown;
}

export type EventHook = (event: FloodgateEvent) => unknown;

/**
 * Tells `hook` of an event; without a hook, the process's warnings, where there is a process. What the hook throws, or
 * rejects with, goes to the process's warnings too, never to the caller.
 */
export function reportEvent(hook: EventHook | undefined, event: FloodgateEvent): void {
  if (hook === undefined) {
    warnProcess(event.message, event.code);
    return;
  }
  callHook(
    () => hook(event),
    (error) => warnProcess(`onEvent threw: ${messageOf(error)}`, 'warning'),
  );
}

/** Calls a hook of the user's, which may throw or answer a promise that rejects; neither reaches the caller. */
export function callHook(hook: () => unknown, onError: (error: unknown) => void): void {
  try {
    const answer = hook();
    if (isPromise(answer)) answer.then(undefined, onError);
  } catch (error) {
    onError(error);
  }
}

function warnProcess(message: string, code: FloodgateEvent['code']): void {
  globalThis.process?.emitWarning?.(message, { type: 'FloodgateWarning', code });
}
