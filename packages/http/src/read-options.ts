import { FloodgateError, limitOf, type Quota } from '@floodgate/core';
import { checkOptions, invalid } from '@floodgate/core/internal';
import { checkBoolean, checkFunction, checkStatus } from './checks.ts';
import { clash, familiesOf, isFieldText, MOST_UNITS_IN_FIELD } from './header-families.ts';
import type { BaseOptions, CommonOptions, HeaderFamily, HttpLimiterOptions } from './options.ts';
import { QuotaByPlan } from './plans.ts';
import type { HttpPolicy } from './policies.ts';
import { PARTS, type Parts, readParts, readPolicies, takeName } from './read-policies.ts';

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
  if (!hasLimit(options, setup.mayBeEmpty)) return { policies: [], shared };
  return {
    policies: readPolicies(options as HttpLimiterOptions<Request>, shared, setup.name),
    shared,
  };
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
    for (const { quota } of shown) for (const one of quotasOf(quota)) checkUnits(one);
  }
}

function quotasOf(quota: HttpPolicy<never>['quota']): readonly Quota[] {
  if (quota instanceof QuotaByPlan) return [...quota.quotas.values()];
  return typeof quota === 'function' ? [] : [quota];
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

const SOURCES = ['limit', 'quota', 'policies', 'plans'] as const;
/** What says more of `plans`. */
const PLAN_OPTIONS = ['plan', 'defaultPlan', 'upgradeUrl'] as const;
const OPTIONS = [
  ...SOURCES,
  'window',
  'name',
  ...PLAN_OPTIONS,
  ...PARTS,
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
  const older = families.find((family) => clash('draft-8', family as HeaderFamily));
  if (older !== undefined && families.includes('draft-8')) {
    const text = `Expected \`headers\` without \`draft-8\` beside \`${older}\`: both write RateLimit-Policy, each in its own way`;
    throw new FloodgateError(CODE, text);
  }
}

const FAMILIES: readonly HeaderFamily[] = ['legacy', 'draft-6', 'draft-7', 'draft-8'];

/** Whether there is a limit: said in one way, and nothing of another. */
function hasLimit<Request>(
  options: HttpLimiterOptions<Request> | BaseOptions<Request>,
  mayBeEmpty: boolean,
): boolean {
  const given = SOURCES.filter((name) => options[name] !== undefined);
  const [source, another] = given.filter((name) => name !== 'policies' || !given.includes('plans'));
  if (source === undefined && !mayBeEmpty) {
    const expectation = 'given `limit` with `window`, `quota`, `policies` or `plans`';
    throw invalid(CODE, 'options', expectation, options);
  }
  if (another !== undefined) {
    throw new FloodgateError(
      CODE,
      `Expected only one of \`${source}\` and \`${another}\`, got both`,
    );
  }
  const { name, window } = options as { name?: unknown; window?: unknown };
  if ((source === 'policies' || source === 'plans') && name !== undefined) {
    throw new FloodgateError(CODE, `Expected no \`name\` beside \`${source}\`: each has its own`);
  }
  if (source !== 'limit' && window !== undefined) {
    const where = source === undefined ? 'without `limit`' : `beside \`${source}\``;
    throw new FloodgateError(CODE, `Expected no \`window\` ${where}`);
  }
  checkPlanOptions(options as PlanOptions);
  return source !== undefined;
}

type PlanOptions = Partial<Record<'plans' | (typeof PLAN_OPTIONS)[number], unknown>>;

function checkPlanOptions(options: PlanOptions): void {
  const { plans, plan, defaultPlan, upgradeUrl } = options;
  if (plans === undefined) {
    const alone = PLAN_OPTIONS.find((name) => options[name] !== undefined);
    if (alone === undefined) return;
    throw new FloodgateError(CODE, `Expected no \`${alone}\` without \`plans\``);
  }
  if (typeof plan !== 'function') {
    throw invalid(CODE, 'plan', "a function that finds a request's plan", plan);
  }
  const names = Object.keys(Object(plans));
  if (defaultPlan !== undefined && !names.includes(defaultPlan as string)) {
    throw invalid(CODE, 'defaultPlan', `one of the plans (${names.join(', ')})`, defaultPlan);
  }
  const isUrl =
    typeof upgradeUrl === 'string' ? upgradeUrl !== '' : typeof upgradeUrl === 'function';
  if (upgradeUrl !== undefined && !isUrl) {
    throw invalid(CODE, 'upgradeUrl', 'a text that is not empty, or a function', upgradeUrl);
  }
}
