import { setImmediate } from 'node:timers/promises';
import { keys } from '@floodgate/express';
import type { PlanName } from './plans.ts';

/** An API key as the table has it: whose it is, and its hash. The key itself is nowhere. */
export interface ApiKey {
  /** What `keys.apiKey` makes of it, `key:` and a SHA-256: the same text that limits count by. */
  readonly id: string;
  /** What its owner calls it. */
  readonly label: string;
  readonly user: string;
}

/** What is asked of the database. Each answer is one look-up. */
export interface Accounts {
  /** The API key with this id; undefined where there is none. */
  apiKey(id: string): Promise<ApiKey | undefined>;
  apiKeysOf(user: string): Promise<readonly ApiKey[]>;
  /** The name of a user's plan; undefined where there is no such user. */
  planOf(user: string): Promise<string | undefined>;
  /** False where there is no such user. */
  setPlan(user: string, plan: PlanName): Promise<boolean>;
}

export interface NewUser {
  readonly id: string;
  readonly plan: PlanName;
  /** The API keys by their labels. */
  readonly apiKeys: Readonly<Record<string, string>>;
}

/** The tables of users and of API keys, in memory, and as slow to answer as the event loop. */
export class MemoryAccounts implements Accounts {
  readonly #plans = new Map<string, PlanName>();
  readonly #apiKeys = new Map<string, ApiKey>();

  constructor(users: readonly NewUser[]) {
    for (const { id: user, plan, apiKeys } of users) {
      this.#plans.set(user, plan);
      for (const [label, secret] of Object.entries(apiKeys)) {
        const id = keys.apiKey(secret);
        this.#apiKeys.set(id, { id, label, user });
      }
    }
  }

  async apiKey(id: string): Promise<ApiKey | undefined> {
    await setImmediate();
    return this.#apiKeys.get(id);
  }

  async apiKeysOf(user: string): Promise<readonly ApiKey[]> {
    await setImmediate();
    return [...this.#apiKeys.values()].filter((apiKey) => apiKey.user === user);
  }

  async planOf(user: string): Promise<PlanName | undefined> {
    await setImmediate();
    return this.#plans.get(user);
  }

  async setPlan(user: string, plan: PlanName): Promise<boolean> {
    await setImmediate();
    if (!this.#plans.has(user)) return false;
    this.#plans.set(user, plan);
    return true;
  }
}
