import type { Quota } from '@floodgate/core';
import { isAscii, serializeItem } from 'structured-headers';
import {
  type Header,
  resetSeconds,
  type Shown,
  waitMsOf,
  waitSeconds,
  windowSeconds,
} from './headers.ts';
import type { CommonOptions, HeaderFamily } from './options.ts';

/** One way to tell limits in headers. */
export interface HeaderWriter {
  /** The names of all headers that it may write. */
  readonly names: readonly string[];
  /** Adds what it tells of the decisions; `single` is the one that a header with room for one shows. */
  readonly write: (headers: Header[], shown: readonly Shown[], single: Shown) => void;
}

/** The writer of a family. It keeps what it has put together once, so each limiter has its own. */
export function headerWriter(family: HeaderFamily): HeaderWriter {
  switch (family) {
    case 'legacy':
      return {
        names: ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
        write: writeLegacy,
      };
    case 'draft-6':
      return {
        names: ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'],
        write: writeDraft6,
      };
    case 'draft-7':
      return { names: ['RateLimit', 'RateLimit-Policy'], write: writeDraft7 };
    case 'draft-8':
      return { names: ['RateLimit', 'RateLimit-Policy'], write: draft8Writer() };
  }
}

/** What a `headers` option says. */
export function familiesOf(headers: CommonOptions['headers'] = 'legacy'): readonly HeaderFamily[] {
  if (headers === false) return [];
  return typeof headers === 'string' ? [headers] : headers;
}

/** Whether two families write the same names, each in its own way. */
export function clash(a: HeaderFamily, b: HeaderFamily): boolean {
  const isOlder = (family: HeaderFamily): boolean => family === 'draft-6' || family === 'draft-7';
  return (a === 'draft-8' && isOlder(b)) || (b === 'draft-8' && isOlder(a));
}

/** The largest whole number of RFC 9651. */
export const MOST_UNITS_IN_FIELD = 999_999_999_999_999;

/** A quota that comes with a request may be larger than a field can tell: then less is told, as the drafts allow. */
function units(count: number): string {
  return String(Math.min(count, MOST_UNITS_IN_FIELD));
}

/** Whether a policy's name can be told in `draft-8`, whose strings are printable ASCII. */
export function isFieldText(name: string): boolean {
  return isAscii(name);
}

/** Where no wait helps there is no `-Reset`, as there is no `Retry-After`. */
function writeLegacy(
  headers: Header[],
  _shown: readonly Shown[],
  { decision, quota }: Shown,
): void {
  headers.push(
    ['X-RateLimit-Limit', String(decision.limit)],
    ['X-RateLimit-Remaining', String(decision.remaining)],
  );
  const reset = resetSeconds(decision.atMs, waitMsOf(decision, quota));
  if (reset !== undefined) headers.push(['X-RateLimit-Reset', String(reset)]);
}

function writeDraft6(headers: Header[], shown: readonly Shown[], single: Shown): void {
  headers.push(
    ['RateLimit-Limit', units(single.decision.limit)],
    ['RateLimit-Remaining', units(single.decision.remaining)],
  );
  const reset = waitSeconds(single);
  if (reset !== undefined) headers.push(['RateLimit-Reset', String(reset)]);
  pushPolicies(headers, shown, single);
}

/** The draft wants a `reset` in each field: where no wait helps, the window. */
function writeDraft7(headers: Header[], shown: readonly Shown[], single: Shown): void {
  const limit = units(single.decision.limit);
  const remaining = units(single.decision.remaining);
  const reset = waitSeconds(single) ?? windowSeconds(single.quota);
  headers.push(['RateLimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`]);
  pushPolicies(headers, shown, single);
}

/**
 * `RateLimit-Policy` as drafts 4 to 7 have it, once where two of them are told. There it is the quota that tells policies
 * apart, so of those with equal ones only the first is told, or the one that the other fields show.
 */
function pushPolicies(headers: Header[], shown: readonly Shown[], single: Shown): void {
  if (headers.some(([name]) => name === 'RateLimit-Policy')) return;
  const told = shown.filter((one, index) => {
    if (one === single) return true;
    const { limit } = one.decision;
    const isFirst = shown.findIndex(({ decision }) => decision.limit === limit) === index;
    return isFirst && limit !== single.decision.limit;
  });
  const policies = told.map(
    ({ decision, quota }) => `${units(decision.limit)};w=${windowSeconds(quota)}`,
  );
  headers.push(['RateLimit-Policy', policies.join(', ')]);
}

function draft8Writer(): HeaderWriter['write'] {
  const policies = new Map<string, FieldPolicy>();
  return (headers, shown) => {
    let limits = '';
    let stated = '';
    for (const one of shown) {
      const { policy: name, limit, remaining } = one.decision;
      let policy = policies.get(name);
      if (policy?.quota !== one.quota || policy.limit !== limit) {
        policy = fieldPolicy(name, one.quota, limit);
        policies.set(name, policy);
      }
      const seconds = waitSeconds(one);
      const separator = limits === '' ? '' : ', ';
      limits += `${separator}${policy.name};r=${units(remaining)}${seconds === undefined ? '' : `;t=${seconds}`}`;
      stated += separator + policy.text;
    }
    headers.push(['RateLimit-Policy', stated], ['RateLimit', limits]);
  };
}

/** What `draft-8` says of a policy, which stays the same from request to request. */
interface FieldPolicy {
  readonly quota: Quota;
  readonly limit: number;
  /** As a string of RFC 9651. */
  readonly name: string;
  /** As an item of `RateLimit-Policy`. */
  readonly text: string;
}

function fieldPolicy(policy: string, quota: Quota, limit: number): FieldPolicy {
  const parameters = new Map([
    ['q', Math.min(limit, MOST_UNITS_IN_FIELD)],
    ['w', windowSeconds(quota)],
  ]);
  const text = serializeItem([policy, parameters]);
  return { quota, limit, name: serializeItem(policy), text };
}
