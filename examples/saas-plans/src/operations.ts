import { type Duration, keys, type LimiterHandle, type PolicyDecision } from '@floodgate/express';
import type { Accounts } from './accounts.ts';

/** Whose limits: those of a user, by id, or of one API key, by the id that `keys.apiKey` makes of it. */
export interface Whose {
  readonly kind: 'user' | 'key';
  readonly id: string;
}

/** What somebody has left. Looking uses nothing. */
export interface Inspection {
  readonly user: string;
  readonly plan?: string;
  /** Of an API key: its id, and what its owner calls it. */
  readonly id?: string;
  readonly label?: string;
  /** The user's API keys, of which each has a limit of its own. */
  readonly apiKeys?: readonly { readonly id: string; readonly label: string }[];
  readonly blocked: boolean;
  /** How long the block lasts, in seconds; null without one. */
  readonly retryAfter: number | null;
  readonly limits: Readonly<Record<string, Limit>>;
}

interface Limit {
  readonly limit: number;
  readonly remaining: number;
  /** When all of it is back, in seconds since 1970. */
  readonly resetAt: number;
}

/** What an operator does. Each answers undefined, or false, where there is nobody like that. */
export interface Operations {
  inspect(whose: Whose): Promise<Inspection | undefined>;
  /** Denies all requests for some time from now, whatever block there was. */
  block(whose: Whose, duration: Duration): Promise<boolean>;
  /** Lifts a block; what was counted stays. */
  unblock(whose: Whose): Promise<boolean>;
  /** Forgets what was counted, and a block. */
  reset(whose: Whose): Promise<boolean>;
}

/**
 * By a limiter's handle: the middleware itself in the server, and in a script on a store that both share
 * `new HttpLimiter({ ...customerLimits(accounts), store })`.
 */
export function operationsOn(limiter: LimiterHandle, accounts: Accounts): Operations {
  async function withKey(
    whose: Whose,
    act: (key: string) => void | Promise<void>,
  ): Promise<boolean> {
    const key = await keyOf(whose, accounts);
    if (key === undefined) return false;
    await act(key);
    return true;
  }
  return {
    inspect: (whose) => inspect(whose, limiter, accounts),
    block: (whose, duration) => withKey(whose, (key) => limiter.block(key, duration)),
    unblock: (whose) => withKey(whose, (key) => limiter.unblock(key)),
    reset: (whose) => withKey(whose, (key) => limiter.reset(key)),
  };
}

/** The key that limits count by; undefined where there is nobody like that. */
async function keyOf({ kind, id }: Whose, accounts: Accounts): Promise<string | undefined> {
  if (kind === 'key') return (await accounts.apiKey(id))?.id;
  return (await accounts.planOf(id)) === undefined ? undefined : keys.user(id);
}

async function inspect(
  { kind, id }: Whose,
  limiter: LimiterHandle,
  accounts: Accounts,
): Promise<Inspection | undefined> {
  if (kind === 'key') {
    const apiKey = await accounts.apiKey(id);
    return apiKey && { ...apiKey, ...(await limitsOf(limiter, apiKey.id)) };
  }
  const plan = await accounts.planOf(id);
  if (plan === undefined) return undefined;
  const apiKeys = (await accounts.apiKeysOf(id)).map(({ id, label }) => ({ id, label }));
  return { user: id, plan, apiKeys, ...(await limitsOf(limiter, keys.user(id), plan)) };
}

async function limitsOf(
  limiter: LimiterHandle,
  key: string,
  plan?: string,
): Promise<Pick<Inspection, 'blocked' | 'retryAfter' | 'limits'>> {
  // A cost of 0 is denied only by a block.
  const verdict = await limiter.peek(key, { cost: 0, ...(plan !== undefined && { plan }) });
  // What stands in for a store that is away knows nothing of what that has counted.
  if (verdict.degraded !== undefined) throw verdict.degraded.error;
  const enforced = verdict.decisions.filter(({ advisory }) => !advisory);
  const blocked = enforced.some((decision) => decision.blocked);
  return {
    blocked,
    retryAfter: blocked ? Math.ceil(verdict.retryAfterMs / 1000) : null,
    limits: Object.fromEntries(enforced.map((decision) => [decision.policy, limitOf(decision)])),
  };
}

function limitOf({ limit, remaining, resetAtMs }: PolicyDecision): Limit {
  return { limit, remaining, resetAt: Math.ceil(resetAtMs / 1000) };
}
