import type { FloodgateEvent, Verdict } from '@floodgate/express';

/** Which request was denied, by which policy, whose; nothing of what is hashed can be used as what it was made of. */
export function denialLine({ tightest, retryAfterMs }: Verdict): string {
  const wait = retryAfterMs === Number.POSITIVE_INFINITY ? 'no wait helps' : `${retryAfterMs} ms`;
  return `denied  ${shortened(tightest.key)}  ${tightest.policy}  ${wait}`;
}

export function eventLine({ code, reason, message }: FloodgateEvent): string {
  return `${reason ?? code}  ${message}`;
}

/** An API key's hash, enough of it to tell keys apart; any other key as it is. */
export function shortened(key: string): string {
  return key.startsWith('key:') ? `${key.slice(0, 12)}…` : key;
}
