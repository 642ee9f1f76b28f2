import {
  FloodgateError,
  type Quota,
  type QuotaInput,
  slidingWindowCounter,
  toQuota,
} from '@floodgate/core';
import { andThen, checkOptions, invalid, toMilliseconds } from '@floodgate/core/internal';
import type {
  HttpLimiterOptions,
  Mode,
  PolicyOptions,
  SharedOptions,
  ShorthandOptions,
} from './options.ts';
import type { HttpPolicy } from './policies.ts';
import { byIp, toResolvers } from './resolvers.ts';

/**
 * The policies that options describe. Throws unless every option is known and what it should be, and no two
 * contradict each other.
 */
export function readPolicies<Request>(options: HttpLimiterOptions<Request>): HttpPolicy<Request>[] {
  for (const name of Object.keys(options ?? {})) {
    const ours = NAMES_ELSEWHERE.get(name);
    if (ours !== undefined) {
      throw new FloodgateError(CODE, `Expected known options, got \`${name}\`: use \`${ours}\``);
    }
  }
  checkOptions(CODE, 'options', options, OPTIONS);
  checkCommon(options);
  const shared = readParts(options, '', DEFAULT_PARTS);
  if (sourceOf(options) === 'policies') return readList(options.policies, shared);
  const { name = 'default' } = options;
  const policy = { name: readName(name, 'name'), quota: readQuota(options), when: undefined };
  return [{ ...shared, ...policy }];
}

const CODE = 'FLOODGATE_INVALID_OPTION';

const SHARED = ['key', 'cost', 'mode', 'store', 'onStoreError'] as const;
const POLICY = ['name', 'quota', 'when', ...SHARED] as const;
const SOURCES = ['limit', 'quota', 'policies'] as const;
const OPTIONS = [
  ...SOURCES,
  'window',
  'name',
  ...SHARED,
  'skip',
  'headers',
  'message',
  'statusCode',
  'handler',
  'instances',
  'countPreflight',
  'onVerdict',
  'onEvent',
] as const;

/** What other libraries call our options. */
const NAMES_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['max', 'limit'],
  ['points', 'limit'],
  ['windowMs', 'window'],
  ['timeWindow', 'window'],
  ['duration', 'window'],
  ['keyGenerator', 'key'],
  ['id', 'key'],
  ['allowList', 'skip'],
  ['whitelist', 'skip'],
  ['standardHeaders', 'headers'],
  ['legacyHeaders', 'headers'],
]);

type Parts<Request> = Omit<HttpPolicy<Request>, 'name' | 'quota' | 'when'>;

const DEFAULT_PARTS: Parts<unknown> = {
  resolvers: [byIp()],
  cost: 1,
  mode: 'enforce',
  store: undefined,
  onStoreError: 'local',
};

/** Reads what a policy may say, or share with others; `prefix` is where it stands in the options. */
function readParts<Request>(
  options: SharedOptions<Request>,
  prefix: string,
  shared: Parts<Request>,
): Parts<Request> {
  const { key, cost = shared.cost, mode = shared.mode } = options;
  if (typeof cost !== 'function' && !(Number.isSafeInteger(cost) && cost >= 0)) {
    throw invalid(CODE, `${prefix}cost`, 'a whole number, 0 or more, or a function', cost);
  }
  if (typeof mode !== 'function' && !MODES.includes(mode)) {
    throw invalid(CODE, `${prefix}mode`, "'enforce', 'shadow', 'off' or a function", mode);
  }
  return {
    resolvers: key === undefined ? shared.resolvers : toResolvers(key, `${prefix}key`),
    cost,
    mode,
    // The core limiter checks these.
    store: options.store ?? shared.store,
    onStoreError: options.onStoreError ?? shared.onStoreError,
  };
}

const MODES: readonly Mode[] = ['enforce', 'shadow', 'off'];

function readList<Request>(
  policies: readonly PolicyOptions<Request>[] | undefined,
  shared: Parts<Request>,
): HttpPolicy<Request>[] {
  if (!Array.isArray(policies) || policies.length === 0) {
    throw invalid(CODE, 'policies', 'a list of one or more policies', policies);
  }
  const names = new Set<string>();
  return policies.map((options: PolicyOptions<Request>, i) => {
    const at = `policies[${i}]`;
    checkOptions(CODE, at, options, POLICY);
    checkFunction(options.when, `${at}.when`);
    const name = readName(options.name, `${at}.name`);
    if (names.has(name.toLowerCase())) {
      throw invalid(CODE, `${at}.name`, 'different from all others, in more than case', name);
    }
    names.add(name.toLowerCase());
    return {
      ...readParts(options, `${at}.`, shared),
      name,
      quota: readQuotaOption(options.quota, `${at}.quota`),
      when: options.when,
    };
  });
}

function checkCommon<Request>(options: HttpLimiterOptions<Request>): void {
  const { headers, statusCode, countPreflight } = options;
  for (const name of ['skip', 'message', 'handler', 'onVerdict', 'onEvent'] as const) {
    checkFunction(options[name], name);
  }
  if (headers !== undefined && headers !== 'legacy' && headers !== false) {
    throw invalid(CODE, 'headers', "'legacy' or false", headers);
  }
  const isError =
    Number.isInteger(statusCode) && Number(statusCode) >= 400 && Number(statusCode) <= 599;
  if (statusCode !== undefined && !isError) {
    throw invalid(CODE, 'statusCode', 'a whole number from 400 to 599', statusCode);
  }
  if (countPreflight !== undefined && typeof countPreflight !== 'boolean') {
    throw invalid(CODE, 'countPreflight', 'true or false', countPreflight);
  }
}

/** Which of the ways to say a limit was taken: exactly one. */
function sourceOf<Request>(options: HttpLimiterOptions<Request>): (typeof SOURCES)[number] {
  const [source, another] = SOURCES.filter((name) => options[name] !== undefined);
  if (source === undefined) {
    throw invalid(CODE, 'options', 'given `limit` with `window`, `quota` or `policies`', options);
  }
  if (another !== undefined) {
    throw new FloodgateError(
      CODE,
      `Expected only one of \`${source}\` and \`${another}\`, got both`,
    );
  }
  if (source === 'policies' && options.name !== undefined) {
    throw new FloodgateError(CODE, 'Expected no `name` beside `policies`: each has its own');
  }
  if (source !== 'limit' && options.window !== undefined) {
    throw new FloodgateError(CODE, `Expected no \`window\` beside \`${source}\``);
  }
  return source;
}

function readQuota<Request>(options: HttpLimiterOptions<Request>): HttpPolicy<Request>['quota'] {
  if (options.quota !== undefined) return readQuotaOption(options.quota, 'quota');
  const { limit, window } = options as ShorthandOptions<Request>;
  if (typeof limit !== 'function') return slidingWindowCounter({ limit, window });
  const windowMs = toMilliseconds(window, 'window', 'FLOODGATE_INVALID_QUOTA');
  // Each request has a quota of its own: none sees the limit of another.
  const quotaOf = (answer: number): Quota =>
    slidingWindowCounter({ limit: answer, window: windowMs });
  return (request) => andThen(limit(request), quotaOf);
}

function readQuotaOption<Request>(
  quota: PolicyOptions<Request>['quota'],
  option: string,
): HttpPolicy<Request>['quota'] {
  if (typeof quota !== 'function') return toQuota(quota, option);
  const quotaOf = (answer: QuotaInput): Quota => toQuota(answer, option);
  return (request) => andThen(quota(request), quotaOf);
}

function readName(name: unknown, option: string): string {
  if (typeof name === 'string' && name !== '') return name;
  throw invalid(CODE, option, 'a text that is not empty', name);
}

function checkFunction(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== 'function') {
    throw invalid(CODE, option, 'a function', value);
  }
}
