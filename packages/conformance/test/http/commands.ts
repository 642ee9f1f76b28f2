import type { Framework } from './frameworks.ts';
import type { Event } from './scenario.ts';

/** What the test asks of the process that hosts the apps. There is one app at a time. */
export type Command =
  /** Starts an app, whose counts are in memory or on a Redis; the reply has its port. */
  | {
      readonly do: 'open';
      readonly framework: Framework;
      readonly scenario: string;
      readonly redisUrl: string | undefined;
    }
  | { readonly do: 'happen'; readonly event: Event }
  /** Waits until a request is held back. */
  | { readonly do: 'wait-for-sleeper' }
  | { readonly do: 'wait-until-settled' }
  /** Stops the app; the reply has its events. */
  | { readonly do: 'close' };

export interface Reply {
  readonly port?: number;
  readonly events?: readonly string[];
  /** Why the command could not be done. */
  readonly error?: string;
}
