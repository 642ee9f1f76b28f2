import {
  FloodgateError,
  limitOf,
  type Quota,
  type QuotaInput,
  slidingWindowCounter,
  toQuota,
} from '@floodgate/core';
import { andThen, checkOptions, invalid, toMilliseconds } from '@floodgate/core/internal';
import { familiesOf, isFieldText, MOST_UNITS_IN_FIELD } from './header-families.ts';
import type {
  BaseOptions,
  CommonOptions,
  HeaderFamily,
  HttpLimiterOptions,
  Mode,
  PolicyOptions,
  SharedOptions,
  ShorthandOptions,
} from './options.ts';
import type { HttpPolicy } from './policies.ts';
import { byIp, toResolvers } from './resolvers.ts';

/** What options describe, checked. */
export interface ReadOptions<Request> {
  readonly policies: readonly HttpPolicy<Request>[];
  /** What policies that are added later have unless they say otherwise. */
  readonly shared: Parts<Request>;
}

export interface ReadSetup<Request> {
  /** What the policies have that say nothing else. */
  readonly shared: Parts<Request>;
  /** The name of a policy that has none. */
  readonly name: string;
  /** Whether there may be no limit at all. */
  readonly mayBeEmpty: boolean;
}

/**
 * The policies that options describe. Throws unless every option is known and what it should be, and no two
 * contradict each other.
 */
export function readOptions<Request>(
  options: HttpLimiterOptions<Request> | BaseOptions<Request>,
  setup: ReadSetup<Request>,
): ReadOptions<Request> {
  for (const name of Object.keys(options ?? {})) {
    const ours = NAMES_ELSEWHERE.get(name);
    if (ours !== undefined) {
      throw new FloodgateError(CODE, `Expected known options, got \`${name}\`: use \`${ours}\``);
    }
  }
  checkOptions(CODE, 'options', options, OPTIONS);
  checkCommon(options);
  const shared = readParts(options, '', setup.shared);
  const source = sourceOf(options, setup.mayBeEmpty);
  if (source === undefined) return { policies: [], shared };
  if (source === 'policies') return { policies: readList(options.policies, shared), shared };
  const { name = setup.name } = options as { readonly name?: string };
  const policy: HttpPolicy<Request> = {
    ...shared,
    name: readName(name, 'name'),
    quota: readQuota(options as HttpLimiterOptions<Request>),
    when: undefined,
    hidden: false,
    statusCode: undefined,
  };
  return { policies: [policy], shared };
}

/** Throws unless policies that are met together differ in name, and can be told as the options ask. */
export function checkTogether<Request>(
  policies: readonly HttpPolicy<Request>[],
  headers: CommonOptions['headers'],
  legacyPolicy: string | undefined,
): void {
  const names = new Set<string>();
  for (const { name } of policies) takeName(names, name, 'name');
  const shown = policies.filter(({ hidden }) => !hidden);
  if (legacyPolicy !== undefined && !shown.some(({ name }) => name === legacyPolicy)) {
    throw invalid(CODE, 'legacyPolicy', 'the name of a policy that is not hidden', legacyPolicy);
  }
  const families = familiesOf(headers);
  if (families.includes('draft-8')) {
    const untold = shown.find(({ name }) => !isFieldText(name));
    if (untold !== undefined) {
      throw invalid(CODE, 'name', "printable ASCII, as headers of 'draft-8' need", untold.name);
    }
  }
  if (families.some((family) => family !== 'legacy')) {
    for (const { quota } of shown) if (typeof quota !== 'function') checkUnits(quota);
  }
}

/** Throws for a limit that no header of the drafts can tell. */
function checkUnits(quota: Quota): void {
  const limit = limitOf(quota);
  if (limit > MOST_UNITS_IN_FIELD) {
    const expectation = `at most ${MOST_UNITS_IN_FIELD}, the most that headers of the drafts can tell`;
    throw invalid('FLOODGATE_INVALID_QUOTA', 'limit', expectation, limit);
  }
}

const CODE = 'FLOODGATE_INVALID_OPTION';

const SHARED = ['key', 'cost', 'mode', 'store', 'onStoreError'] as const;
const POLICY = ['name', 'quota', 'when', 'hidden', 'statusCode', ...SHARED] as const;
const SOURCES = ['limit', 'quota', 'policies'] as const;
type Source = (typeof SOURCES)[number];
const OPTIONS = [
  ...SOURCES,
  'window',
  'name',
  ...SHARED,
  'skip',
  'headers',
  'legacyPolicy',
  'exposeHeaders',
  'body',
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

/** What a policy may have of its own, or share with others. */
export type Parts<Request> = Omit<
  HttpPolicy<Request>,
  'name' | 'quota' | 'when' | 'hidden' | 'statusCode'
>;

export const DEFAULT_PARTS: Parts<unknown> = {
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
    checkBoolean(options.hidden, `${at}.hidden`);
    checkStatus(options.statusCode, `${at}.statusCode`);
    const name = readName(options.name, `${at}.name`);
    takeName(names, name, `${at}.name`);
    return {
      ...readParts(options, `${at}.`, shared),
      name,
      quota: readQuotaOption(options.quota, `${at}.quota`),
      when: options.when,
      hidden: options.hidden ?? false,
      statusCode: options.statusCode,
    };
  });
}

function checkCommon<Request>(options: CommonOptions<Request>): void {
  for (const name of ['skip', 'message', 'handler', 'onVerdict', 'onEvent'] as const) {
    checkFunction(options[name], name);
  }
  const { headers, body, legacyPolicy } = options;
  if (headers !== undefined && headers !== false) checkFamilies(headers);
  if (legacyPolicy !== undefined && !familiesOf(headers).some((family) => family !== 'draft-8')) {
    throw new FloodgateError(
      CODE,
      'Expected no `legacyPolicy` without headers that show one policy',
    );
  }
  if (body !== undefined && body !== 'json' && body !== 'problem' && typeof body !== 'function') {
    throw invalid(CODE, 'body', "'json', 'problem' or a function", body);
  }
  if (typeof body === 'function' && options.message !== undefined) {
    throw new FloodgateError(
      CODE,
      'Expected no `message` beside a `body` function, which says all',
    );
  }
  checkStatus(options.statusCode, 'statusCode');
  checkBoolean(options.countPreflight, 'countPreflight');
  checkBoolean(options.exposeHeaders, 'exposeHeaders');
}

function checkFamilies(headers: unknown): void {
  const families: unknown[] = Array.isArray(headers) ? headers : [headers];
  const known = families.every((family) => FAMILIES.includes(family as HeaderFamily));
  if (!known || families.length === 0 || new Set(families).size < families.length) {
    const expectation = `'legacy', 'draft-6', 'draft-7', 'draft-8', a list of different ones, or false`;
    throw invalid(CODE, 'headers', expectation, headers);
  }
  const older = families.find((family) => family === 'draft-6' || family === 'draft-7');
  if (older !== undefined && families.includes('draft-8')) {
    const text = `Expected \`headers\` without \`draft-8\` beside \`${older}\`: both write RateLimit-Policy, each in its own way`;
    throw new FloodgateError(CODE, text);
  }
}

const FAMILIES: readonly HeaderFamily[] = ['legacy', 'draft-6', 'draft-7', 'draft-8'];

/** Which of the ways to say a limit was taken: exactly one. */
function sourceOf<Request>(
  options: HttpLimiterOptions<Request> | BaseOptions<Request>,
  mayBeEmpty: boolean,
): Source | undefined {
  const [source, another] = SOURCES.filter((name) => options[name] !== undefined);
  if (source === undefined && !mayBeEmpty) {
    throw invalid(CODE, 'options', 'given `limit` with `window`, `quota` or `policies`', options);
  }
  if (another !== undefined) {
    throw new FloodgateError(
      CODE,
      `Expected only one of \`${source}\` and \`${another}\`, got both`,
    );
  }
  const { name, window } = options as { name?: unknown; window?: unknown };
  if (source === 'policies' && name !== undefined) {
    throw new FloodgateError(CODE, 'Expected no `name` beside `policies`: each has its own');
  }
  if (source !== 'limit' && window !== undefined) {
    const where = source === undefined ? 'without `limit`' : `beside \`${source}\``;
    throw new FloodgateError(CODE, `Expected no \`window\` ${where}`);
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

/** Headers, bodies and stores tell policies apart by name, some of them without regard to case. */
function takeName(names: Set<string>, name: string, option: string): void {
  if (names.has(name.toLowerCase())) {
    throw invalid(CODE, option, 'different from all others, in more than case', name);
  }
  names.add(name.toLowerCase());
}

function readName(name: unknown, option: string): string {
  if (typeof name === 'string' && name !== '') return name;
  throw invalid(CODE, option, 'a text that is not empty', name);
}

function checkStatus(value: unknown, option: string): void {
  if (value === undefined) return;
  if (Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599) return;
  throw invalid(CODE, option, 'a whole number from 400 to 599', value);
}

function checkBoolean(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== 'boolean') {
    throw invalid(CODE, option, 'true or false', value);
  }
}

function checkFunction(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== 'function') {
    throw invalid(CODE, option, 'a function', value);
  }
}
