import type { NewUser } from './accounts.ts';

/**
 * Customers to try with. A real server makes each key from 32 random bytes, shows it once, and keeps the hash; the
 * hash needs no salt and need not be slow, since nobody guesses 32 random bytes.
 */
export const DEMO_USERS: readonly NewUser[] = [
  { id: '42', plan: 'free', apiKeys: { laptop: 'demo-ada-laptop', server: 'demo-ada-server' } },
  { id: '43', plan: 'pro', apiKeys: { server: 'demo-grace-server' } },
  { id: '44', plan: 'enterprise', apiKeys: { fleet: 'demo-katherine-fleet' } },
];
