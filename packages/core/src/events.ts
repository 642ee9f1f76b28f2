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
  /**
   * Which `warning`, for a program to tell them apart; there are others, which `docs/errors.md` lists.
   *
   * - `hook-threw`: `onVerdict` threw, or rejected.
   * - `memory-store-in-cluster`: this process is one of several workers, and each would count in a memory store of its
   *   own.
   */
  readonly reason?: 'hook-threw' | 'memory-store-in-cluster' | (string & {});
  /** What happened and what to do about it, in a sentence. Holds no key. */
  readonly message: string;
  /** What was thrown, where something was. */
  readonly error?: unknown;
}

export type EventHook = (event: FloodgateEvent) => unknown;

/**
 * Tells `hook` of an event; without a hook, the process's warnings, where there is a process: there a mistake in the
 * set-up is shown once, however many limiters make it. What the hook throws, or rejects with, goes to the process's
 * warnings too, never to the caller.
 */
export function reportEvent(hook: EventHook | undefined, event: FloodgateEvent): void {
  if (hook === undefined) {
    if (isNews(event)) warnProcess(event.message, event.code);
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

/**
 * The mistakes in the set-up that the process's warnings have shown. Limiters know nothing of one another, and a
 * process does not tell what it was warned of: so it is remembered here, where it decides no request.
 */
const shown: Set<string> = new Set();

/** A mistake in the set-up stays what it is; what happens (an outage, a hook that threw) is news each time. */
function isNews(event: FloodgateEvent): boolean {
  if (event.code !== 'warning' || 'error' in event) return true;
  if (shown.has(event.message)) return false;
  shown.add(event.message);
  return true;
}

function warnProcess(message: string, code: FloodgateEvent['code']): void {
  globalThis.process?.emitWarning?.(message, { type: 'FloodgateWarning', code });
}
