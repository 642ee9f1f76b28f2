import { hash } from 'node:crypto';
import { invalid } from '@floodgate/core/internal';
import { canonicalAddress, IPV6_PREFIX } from './addresses.ts';

/**
 * The kinds of key that resolvers make. A kind is the first part of a key, so that two kinds never share one:
 * `user:42`, `ip:203.0.113.7`.
 */
export type KeyKind = 'user' | 'key' | 'ip' | 'route' | 'custom' | 'global' | `header-${string}`;

/** What identifies a user: a text that is not empty, or a number. `42`, `42n` and `'42'` are one user. */
export type UserId = string | number | bigint;

/**
 * The very texts that the resolvers make, for `peek`, `block`, `unblock` and `reset`. Different values never make
 * equal keys, whatever characters they hold: all but letters, digits and `:@.+/-_~=,` are written as `%XX` or
 * `%uXXXX`, and a value that is then longer than 64 characters as `#` and its SHA-256.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` for a value that is no such thing
 */
export const keys = {
  /** What `byUser` makes: `user:42`. */
  user(id: UserId): string {
    return required(userKey(id, 'keys.user'), 'keys.user');
  },

  /** What `byApiKey` makes: `key:` and the SHA-256 of the secret, which appears nowhere. */
  apiKey(secret: string): string {
    return required(secretKey('key', secret, 'keys.apiKey'), 'keys.apiKey');
  },

  /** What `byIp` makes: `ip:203.0.113.7`, `ip:2001:db8:0:ab00::/56`. */
  ip(address: string, ipv6Prefix: number = IPV6_PREFIX): string {
    checkPrefix(ipv6Prefix);
    const key = typeof address === 'string' ? addressKey(address, ipv6Prefix) : undefined;
    if (key === undefined) {
      throw invalid('FLOODGATE_INVALID_OPTION', 'keys.ip', 'an IPv4 or IPv6 address', address);
    }
    return key;
  },

  /**
   * What the resolver of any kind makes: `keys.of('custom', value)` what your own function's answer becomes,
   * `keys.of('header-x-tenant', value)` what `byHeader('X-Tenant')` does, `keys.of('route', 'GET /users/:id')`.
   */
  of(kind: KeyKind, value: UserId): string {
    switch (kind) {
      case 'global':
        return GLOBAL_KEY;
      case 'user':
        return keys.user(value);
      case 'key':
        return keys.apiKey(value as string);
      case 'ip':
        return keys.ip(value as string);
      case 'route':
      case 'custom':
        return required(textKey(kind, value, 'keys.of'), 'keys.of');
      default:
        if (typeof kind === 'string' && kind.startsWith('header-')) {
          const name = headerName(kind.slice('header-'.length), 'kind');
          return required(headerKey(name, value as string), 'keys.of');
        }
        throw invalid(
          'FLOODGATE_INVALID_OPTION',
          'kind',
          "'user', 'key', 'ip', 'route', 'custom', 'global' or 'header-' with a header's name",
          kind,
        );
    }
  },

  /** What `combine` makes of the keys that its resolvers found, in their order: `user:42|route:GET%20/search`. */
  combine(...parts: readonly string[]): string {
    if (parts.length === 0 || !parts.every((part) => typeof part === 'string' && part !== '')) {
      throw invalid('FLOODGATE_INVALID_OPTION', 'keys.combine', 'given one or more keys', parts);
    }
    return combinedKey(parts);
  },
} as const;

/** The one key of all requests. */
export const GLOBAL_KEY = 'global';

/** The kind of keys of several parts. */
export const COMBINED_KIND = 'combined';

/** The kind that a key's text begins with. */
export function kindOf(key: string): string {
  if (key.includes(SEPARATOR)) return COMBINED_KIND;
  const end = key.indexOf(':');
  return end === -1 ? key : key.slice(0, end);
}

/** Whether a key is one client's: it names a user or an API key. An address or a text of one's own may be that of many. */
export function isOfOneClient(key: string): boolean {
  return key.split(SEPARATOR).some((part) => part.startsWith('user:') || part.startsWith('key:'));
}

/** A user's key, or undefined where there is none: for `undefined`, `null`, `false` and `''`. */
export function userKey(id: unknown, option: string): string | undefined {
  return id === false ? undefined : textKey('user', id, option);
}

/** The key of a value of one's own, or undefined where there is none: for `undefined`, `null` and `''`. */
export function customKey(value: unknown, option: string): string | undefined {
  return textKey('custom', value, option);
}

export function routeKey(route: string): string {
  return `route:${encode(route)}`;
}

export function apiKeyKey(secret: string): string | undefined {
  return secretKey('key', secret, 'keys.apiKey');
}

/** `name` as {@link headerName} gives it. */
export function headerKey(name: string, value: string): string | undefined {
  return secretKey(`header-${name}`, value, 'keys.of');
}

/** The name of a header in lower case, as requests hold it. */
export function headerName(name: unknown, option: string): string {
  if (typeof name === 'string' && /^[\w.-]{1,64}$/.test(name)) return name.toLowerCase();
  throw invalid('FLOODGATE_INVALID_OPTION', option, "a header's name", name);
}

export function addressKey(address: string, ipv6Prefix: number): string | undefined {
  const canonical = canonicalAddress(address, ipv6Prefix);
  return canonical === undefined ? undefined : `ip:${canonical}`;
}

export function combinedKey(parts: readonly string[]): string {
  if (parts.length === 1) return parts[0] as string;
  // A part of several parts keeps its brackets: (a, b), c is not a, (b, c).
  const joined = parts
    .map((part) => (part.includes(SEPARATOR) ? `(${part})` : part))
    .join(SEPARATOR);
  return joined.length <= LONGEST_COMBINATION ? joined : `${COMBINED_KIND}:#${digest(joined)}`;
}

export function checkPrefix(ipv6Prefix: unknown): asserts ipv6Prefix is number {
  if (!Number.isInteger(ipv6Prefix) || (ipv6Prefix as number) < 1 || (ipv6Prefix as number) > 128) {
    throw invalid(
      'FLOODGATE_INVALID_OPTION',
      'ipv6Prefix',
      'a whole number from 1 to 128',
      ipv6Prefix,
    );
  }
}

/** Between the parts of a combined key. Never in one of them: it is encoded there. */
const SEPARATOR = '|';
const LONGEST_VALUE = 64;
/** With a policy's name beside it, a key still is a short text for a store. */
const LONGEST_COMBINATION = 120;

function textKey(kind: string, value: unknown, option: string): string | undefined {
  switch (typeof value) {
    case 'string':
      return value === '' ? undefined : `${kind}:${encode(value)}`;
    case 'number':
      if (Number.isFinite(value)) return `${kind}:${encode(String(value))}`;
      break;
    case 'bigint':
      return `${kind}:${encode(String(value))}`;
    case 'undefined':
      return undefined;
    default:
      if (value === null) return undefined;
  }
  throw invalid(
    'FLOODGATE_INVALID_OPTION',
    option,
    'given a text or a finite number, or undefined where there is none',
    value,
  );
}

/** The key of a secret, or undefined for an empty one. No error shows it. */
function secretKey(kind: string, secret: string, option: string): string | undefined {
  if (typeof secret !== 'string') {
    throw invalid('FLOODGATE_INVALID_OPTION', option, 'given a text', typeof secret);
  }
  return secret === '' ? undefined : `${kind}:${digest(secret)}`;
}

function required(key: string | undefined, option: string): string {
  if (key !== undefined) return key;
  throw invalid('FLOODGATE_INVALID_OPTION', option, 'given a value that is not empty', '');
}

const PLAIN = /^[A-Za-z0-9:@.+/\-_~=,]+$/;
const NOT_PLAIN = /[^A-Za-z0-9:@.+/\-_~=,]/g;

function encode(value: string): string {
  if (value.length <= LONGEST_VALUE) {
    const encoded = PLAIN.test(value) ? value : value.replace(NOT_PLAIN, escapeUnit);
    if (encoded.length <= LONGEST_VALUE) return encoded;
  }
  return `#${digest(value)}`;
}

/** One UTF-16 unit, half a character included: `%XX` or `%uXXXX`. */
function escapeUnit(unit: string): string {
  const hex = unit.charCodeAt(0).toString(16).toUpperCase();
  return hex.length <= 2 ? `%${hex.padStart(2, '0')}` : `%u${hex.padStart(4, '0')}`;
}

/** Of the UTF-16 units: UTF-8 writes every half of a character alike. */
function digest(value: string): string {
  return hash('sha256', Buffer.from(value, 'utf16le'), 'base64url');
}
