import {
  byApiKey,
  byUser,
  global,
  type Plan,
  type PolicyOptions,
  type RateLimitOptions,
  slidingWindowCounter,
  tier,
  tokenBucket,
} from '@floodgate/express';
import type { Request } from 'express';
import type { Accounts } from './accounts.ts';

export const PLAN_NAMES = ['free', 'pro', 'enterprise'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

const plans: Readonly<Record<PlanName, Plan>> = {
  free: tier({ requestsPerMinute: 10, requestsPerDay: 100, burstSize: 10 }),
  pro: tier({ requestsPerMinute: 100, requestsPerDay: 10_000, burstSize: 50 }),
  // By contract: no minute and no day, but a rate, a reserve for peaks, and a month.
  enterprise: {
    contract: tokenBucket({ capacity: 1000, refillRate: 50 }),
    perMonth: slidingWindowCounter({ limit: 20_000_000, window: '30d' }),
  },
};

/** What holds whatever the plan. */
const policies: readonly PolicyOptions<Request>[] = [
  // One program that has gone wild does not use up all of its owner's month, and one key can be blocked alone.
  { name: 'apiKey', quota: '1200/1m', key: byApiKey() },
  // Being tried out: whom would it deny? The metrics say.
  { name: 'apiKeyTrial', quota: '300/10s', key: byApiKey(), mode: 'shadow' },
  // What the server can take. That it is full is nobody's mistake but ours: 503, and no word of whose limit it was.
  {
    name: 'ceiling',
    quota: 'token-bucket 500 200/1s',
    key: global(),
    hidden: true,
    statusCode: 503,
  },
];

/**
 * The limits of customers, for the server and for scripts that share its store.
 *
 * There is no `defaultPlan`. The table that knows plans knows API keys as well, so while it is away no request gets
 * this far. And with the smallest plan as the default, an outage of ours would be told to our largest customers as
 * theirs, as 429s: an error says whose it is, and uses nothing.
 */
export function customerLimits(accounts: Accounts): RateLimitOptions {
  return {
    plans,
    // By user: a second API key is no second quota.
    key: byUser((request: Request) => request.customer?.user),
    plan: ({ customer }) => customer && accounts.planOf(customer.user),
    upgradeUrl: (_request, plan) =>
      // There is nothing larger to be had.
      plan === 'enterprise' ? undefined : `https://example.com/pricing?from=${plan}`,
    policies,
    // One header for all clients' old libraries, and what each policy has left for those that want to know.
    headers: ['legacy', 'draft-8'],
  };
}

/** For those who are refused: after thirty of these in a minute, refusing an address costs no look-up any more. */
export function refusalLimits(name: string, message: string): RateLimitOptions {
  return { name, quota: 'sliding-window-log 30/1m', message: () => message };
}
