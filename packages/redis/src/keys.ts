import type { Subject } from '@floodgate/core';

/**
 * Where a subject's state is: `prefix:{key}:policy`. The braces keep all policies of a key together on a cluster. What
 * stands between them has no braces of its own, so that no two subjects share a place, whatever characters they hold.
 */
export function subjectKey(prefix: string, { policy, key }: Subject): string {
  return `${prefix}:{${encode(key, BRACES)}}:${encode(policy, HALVES)}`;
}

/** Half a surrogate pair has no UTF-8 of its own: sent as it is, all of them would be the same character. */
const HALVES = /%|\p{Surrogate}/gu;
const BRACES = /[%{}]|\p{Surrogate}/gu;

function encode(text: string, characters: RegExp): string {
  return text.replace(characters, (one) => `%${one.charCodeAt(0).toString(16)};`);
}
