import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** What is kept of a password. */
export interface PasswordHash {
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** Who may sign in: in a real server, a table of its database. */
export interface Accounts {
  /** The password of an account, hashed; undefined where there is none of this e-mail. Rejects where nobody can tell. */
  find(email: string): Promise<PasswordHash | undefined>;
}

/** Whoever wants to try. */
export const DEMO_USER = { email: 'ada@example.com', password: 'engine' } as const;

export function demoAccounts(): Accounts {
  const password = hashPassword(DEMO_USER.password);
  return { find: async (email) => (email === DEMO_USER.email ? password : undefined) };
}

/** Takes as long where there is no account: else the time would tell who has one. */
export async function isPassword(text: string, kept: PasswordHash | undefined): Promise<boolean> {
  const { salt, hash } = kept ?? NOBODYS_PASSWORD;
  const isEqual = timingSafeEqual(await derive(text, salt, hash.length, COST), hash);
  return isEqual && kept !== undefined;
}

async function hashPassword(text: string): Promise<PasswordHash> {
  const salt = randomBytes(16);
  return { salt, hash: await derive(text, salt, 32, COST) };
}

const NOBODYS_PASSWORD: PasswordHash = { salt: randomBytes(16), hash: randomBytes(32) };

/** What Node.js takes by default. A real server takes as much as it can bear. */
const COST: ScryptOptions = { N: 2 ** 14, r: 8, p: 1 };

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);
