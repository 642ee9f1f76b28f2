import { MemoryStore, RateLimiter } from '@floodgate/core';
import { ManualClock } from '@floodgate/core/testing';

/** What a quota makes of a log. */
export interface BriefReplay {
  readonly deniedRequests: number;
  readonly deniedClients: number;
  readonly waitSeconds: number;
}

/** What `examples/replay` does, without a server, for a log of which every line is good. */
export function briefReplay(log: string, quota: string): BriefReplay {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const limiter = new RateLimiter({ store, policies: [{ name: 'client', quota }] });
  const deniedClients = new Set<string>();
  let deniedRequests = 0;
  let waitMs = 0;
  for (const line of log.trimEnd().split('\n')) {
    const [, client = '', time = ''] = /^(\S+) .*?\[(.+?)\]/.exec(line) ?? [];
    // '17/May/2015:10:05:00 +0000' as `Date` reads it.
    clock.set(Date.parse(time.replaceAll('/', ' ').replace(':', ' ')));
    const { allowed, delayMs } = limiter.take(client);
    waitMs += delayMs;
    if (!allowed) {
      deniedRequests += 1;
      deniedClients.add(client);
    }
  }
  return { deniedRequests, deniedClients: deniedClients.size, waitSeconds: waitMs / 1000 };
}
