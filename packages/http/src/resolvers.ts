import {
  type Awaitable,
  andThen,
  checkOptions,
  invalid,
  isPromise,
  runSteps,
  type Steps,
} from '@floodgate/core/internal';
import { IPV6_PREFIX } from './addresses.ts';
import {
  addressKey,
  apiKeyKey,
  COMBINED_KIND,
  checkPrefix,
  combinedKey,
  customKey,
  GLOBAL_KEY,
  headerKey,
  headerName,
  routeKey,
  type UserId,
  userKey,
} from './keys.ts';
import type { RequestView } from './request-view.ts';

/** Finds whose quota a request uses. Made by the functions of this file. */
export interface KeyResolver<Request = unknown> {
  /** The kinds of key that it makes: what their texts begin with. */
  readonly kinds: readonly string[];
  /** Whether it asks who the user is, which nobody knows before authentication. */
  readonly readsUser: boolean;
  /** Whether it goes by the address that the framework found. */
  readonly readsAddress: boolean;
  /** The key, encoded; undefined where this request has none of the kind. */
  readonly find: (view: RequestView<Request>) => string | undefined | Promise<string | undefined>;
}

/**
 * A function of your own that finds a key. Its answer is always of the kind `custom`, whatever it looks like:
 * `'user:42'` from here is not the user 42. `undefined`, `null` and `''` say that there is none.
 */
export type KeyFunction<Request = unknown> = (
  request: Request,
) => Awaitable<UserId | null | undefined>;

export type KeySource<Request = unknown> = KeyResolver<Request> | KeyFunction<Request>;

/** One way to find a key, or several: the first that finds something wins. */
export type KeyOption<Request = unknown> = KeySource<Request> | readonly KeySource<Request>[];

/** By the user that `find` answers; there is none for `undefined`, `null`, `false` and `''`. */
export function byUser<Request>(
  find: (request: Request) => Awaitable<UserId | false | null | undefined>,
): KeyResolver<Request> {
  if (typeof find !== 'function') {
    throw invalid('FLOODGATE_INVALID_OPTION', 'byUser', 'given a function of the request', find);
  }
  return {
    kinds: ['user'],
    readsUser: true,
    readsAddress: false,
    find: (view) => andThen(find(view.request), (id) => userKey(id, 'byUser')),
  };
}

export interface ApiKeyOptions {
  /** The header that holds the key; of `Authorization`, the credentials after the scheme. @default 'x-api-key' */
  readonly header?: string;
}

/** By an API key in a header. Only its SHA-256 is kept. */
export function byApiKey(options: ApiKeyOptions = {}): KeyResolver {
  checkOptions('FLOODGATE_INVALID_OPTION', 'byApiKey options', options, ['header']);
  const header = headerName(options.header ?? 'x-api-key', 'header');
  return {
    ...NEUTRAL,
    kinds: ['key'],
    find: (view) => {
      const value = view.header(header) ?? '';
      return apiKeyKey(header === 'authorization' ? credentials(value) : value);
    },
  };
}

export interface IpOptions<Request = unknown> {
  /**
   * How many leading bits of an IPv6 address count, from 1 to 128: whoever has one address of a network has them all.
   *
   * @default 56
   */
  readonly ipv6Prefix?: number;
  /**
   * Another source of the address, which you vouch for. Where clients can write it themselves, they choose their key.
   *
   * @default the framework's, by its proxy settings
   */
  readonly from?: (request: Request) => Awaitable<string | readonly string[] | null | undefined>;
}

/** By the client's address. */
export function byIp<Request = unknown>(options: IpOptions<Request> = {}): KeyResolver<Request> {
  checkOptions('FLOODGATE_INVALID_OPTION', 'byIp options', options, ['ipv6Prefix', 'from']);
  const { ipv6Prefix = IPV6_PREFIX, from } = options;
  checkPrefix(ipv6Prefix);
  if (from === undefined) {
    return {
      ...NEUTRAL,
      kinds: ['ip'],
      readsAddress: true,
      find: ({ address }) => (address === undefined ? undefined : addressKey(address, ipv6Prefix)),
    };
  }
  if (typeof from !== 'function') {
    throw invalid('FLOODGATE_INVALID_OPTION', 'from', 'a function of the request', from);
  }
  return {
    ...NEUTRAL,
    kinds: ['ip'],
    find: (view) =>
      andThen(from(view.request), (address) => {
        if (address === undefined || address === null) return undefined;
        // Node.js types most headers as a text or several, and gives a text.
        const [text, another] = [address].flat();
        if (typeof text === 'string' && another === undefined) return addressKey(text, ipv6Prefix);
        throw invalid('FLOODGATE_INVALID_OPTION', 'byIp', 'given an address as a text', address);
      }),
  };
}

/** By the value of a header. Only its SHA-256 is kept. */
export function byHeader(name: string): KeyResolver {
  const header = headerName(name, 'byHeader');
  return {
    ...NEUTRAL,
    kinds: [`header-${header}`],
    find: (view) => headerKey(header, view.header(header) ?? ''),
  };
}

/**
 * By the route: its method and pattern, so that `/users/1` and `/users/2` are one. Finds nothing where a limiter runs
 * before the framework has matched a route. Of a router that is mounted on a path with parameters, Express tells only the
 * text of that path: there, name the route by a function of your own.
 */
export function byRoute(): KeyResolver {
  return {
    ...NEUTRAL,
    kinds: ['route'],
    find: ({ route }) => (route === undefined ? undefined : routeKey(route)),
  };
}

/** One key for all requests. */
export function global(): KeyResolver {
  return { ...NEUTRAL, kinds: [GLOBAL_KEY], find: () => GLOBAL_KEY };
}

/** By several things together, such as user and route. Finds nothing unless each finds something. */
export function combine<Request>(...sources: readonly KeyOption<Request>[]): KeyResolver<Request> {
  if (sources.length === 0) {
    throw invalid('FLOODGATE_INVALID_OPTION', 'combine', 'given one or more resolvers', undefined);
  }
  const parts = sources.map((source) => toResolvers(source, 'combine'));
  const all = parts.flat();
  return {
    kinds: parts.length === 1 ? all.flatMap(({ kinds }) => kinds) : [COMBINED_KIND],
    readsUser: all.some(({ readsUser }) => readsUser),
    readsAddress: all.some(({ readsAddress }) => readsAddress),
    find: (view) => runSteps(findAll(parts, view)),
  };
}

/** What a `key` option says, as resolvers to try in turn. */
export function toResolvers<Request>(
  source: KeyOption<Request>,
  option: string,
): readonly KeyResolver<Request>[] {
  const sources: readonly unknown[] = Array.isArray(source) ? source : [source];
  if (sources.length === 0) {
    throw invalid('FLOODGATE_INVALID_OPTION', option, KEY_EXPECTATION, source);
  }
  return sources.map((one) => {
    if (UNCALLED.has(one)) {
      throw invalid('FLOODGATE_INVALID_OPTION', option, 'called: `byIp()`, not `byIp`', one);
    }
    if (typeof one === 'function') return byFunction(one as KeyFunction<Request>, option);
    if (isResolver(one)) return one;
    throw invalid('FLOODGATE_INVALID_OPTION', option, KEY_EXPECTATION, one);
  });
}

const KEY_EXPECTATION =
  'a resolver such as `byIp()`, a function of the request, or a list of these';

/** They make resolvers, and would be taken for functions of the request. */
const UNCALLED: ReadonlySet<unknown> = new Set<unknown>([
  byUser,
  byApiKey,
  byIp,
  byHeader,
  byRoute,
  global,
  combine,
]);

/** What most resolvers have in common. */
const NEUTRAL = { readsUser: false, readsAddress: false } as const;

function byFunction<Request>(find: KeyFunction<Request>, option: string): KeyResolver<Request> {
  return {
    ...NEUTRAL,
    kinds: ['custom'],
    find: (view) => andThen(find(view.request), (value) => customKey(value, option)),
  };
}

function isResolver(value: unknown): value is KeyResolver {
  return typeof value === 'object' && value !== null && 'find' in value && 'kinds' in value;
}

function* findAll<Request>(
  parts: readonly (readonly KeyResolver<Request>[])[],
  view: RequestView<Request>,
): Steps<string | undefined> {
  const found: string[] = [];
  for (const resolvers of parts) {
    let key: unknown;
    for (const resolver of resolvers) {
      key = resolver.find(view);
      if (isPromise(key)) key = yield key;
      if (key !== undefined) break;
    }
    if (key === undefined) return undefined;
    found.push(key as string);
  }
  return combinedKey(found);
}

/** `Bearer abc` and `bearer  abc` are one key. */
function credentials(authorization: string): string {
  const scheme = /^\s*\S+\s+/.exec(authorization);
  return scheme === null ? authorization : authorization.slice(scheme[0].length);
}
