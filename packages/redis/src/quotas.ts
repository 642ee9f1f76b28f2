import type { Charge, Quota } from '@floodgate/core';
import { invalid, limitOf, periodOf } from '@floodgate/core/internal';

/** The quotas that a batch meets, each sent once, as `lua/batch.lua` has them. */
export class Quotas {
  readonly arguments: string[] = [];
  readonly #enforced: Map<Quota, string> = new Map();
  readonly #advisory: Map<Quota, string> = new Map();

  get count(): number {
    return this.#enforced.size + this.#advisory.size;
  }

  numberOf({ quota, advisory = false }: Charge): string {
    const numbers = advisory ? this.#advisory : this.#enforced;
    let number = numbers.get(quota);
    if (number === undefined) {
      number = String(this.count + 1);
      numbers.set(quota, number);
      this.arguments.push(
        letterOf(quota),
        String(limitOf(quota)),
        String(periodOf(quota)),
        String(rateOf(quota)),
        String(quota.blockMs ?? 0),
        advisory ? '1' : '0',
      );
    }
    return number;
  }
}

/** @throws FloodgateError `FLOODGATE_INVALID_QUOTA` for what is none */
export function letterOf(quota: Quota): string {
  switch (quota?.algorithm) {
    case 'fixed-window':
      return quota.align === 'first-request' ? 'r' : 'f';
    case 'sliding-window-log':
      return 'l';
    case 'sliding-window-counter':
      return 'c';
    case 'token-bucket':
      return 't';
    case 'leaky-bucket':
      return 'k';
    default:
      throw invalid(
        'FLOODGATE_INVALID_QUOTA',
        'quota',
        'a quota made by one of its functions',
        quota,
      );
  }
}

function rateOf(quota: Quota): number {
  if ('refillRate' in quota) return quota.refillRate;
  return 'leakRate' in quota ? quota.leakRate : 0;
}
