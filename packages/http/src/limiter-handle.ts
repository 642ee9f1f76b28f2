import type { ChargeRequest, Duration, Verdict } from '@floodgate/core';

export interface PeekOptions {
  /** Units; 0 asks what is left. @default the policy's, or 1 where that depends on the request */
  readonly cost?: number | undefined;
  /** The plan to look by: needed where the limiter has plans. */
  readonly plan?: string | undefined;
}

/**
 * What can be done with a limiter beside limiting. A key is such as the limiter's resolvers make, and the policies
 * meant are those that may find it: `keys` makes it.
 */
export interface LimiterHandle {
  /** What a request would be answered; changes nothing. */
  peek(key: string | readonly ChargeRequest[], options?: PeekOptions): Verdict | Promise<Verdict>;
  /** Denies a key for some time from now, whatever block there was. */
  block(key: string, duration: Duration): void | Promise<void>;
  /** Lifts a block; what was counted stays. */
  unblock(key: string): void | Promise<void>;
  /** Forgets what a key has used, and its block. */
  reset(key: string): void | Promise<void>;
  /** Closes the store that the limiter made for itself; one that it was given stays open. */
  close(): void;
}

/** The handle of a limiter as an object of functions, to be attached to what a framework is given. */
export function handleOf(limiter: LimiterHandle): LimiterHandle {
  return {
    peek: (key, options) => limiter.peek(key, options),
    block: (key, duration) => limiter.block(key, duration),
    unblock: (key) => limiter.unblock(key),
    reset: (key) => limiter.reset(key),
    close: () => limiter.close(),
  };
}
