import { inspect } from 'node:util';
import { FloodgateError, type HttpLimiterOptions } from '@floodgate/http';
import type { FastifyRequest } from 'fastify';
import type {
  DenialHandler,
  LimitingHook,
  RateLimitOptions,
  RateLimitPluginOptions,
  RouteRateLimitOptions,
} from './options.ts';

// What is Fastify's own in options is taken out and checked here; the rest is for the limiter to check.

type LimiterOptions = HttpLimiterOptions<FastifyRequest, DenialHandler>;

export interface ReadHookOptions {
  readonly throwOnLimit: boolean;
  readonly limits: LimiterOptions;
}

export function readHookOptions(options: RateLimitOptions): ReadHookOptions {
  const { throwOnLimit = false, ...limits } = options ?? {};
  check('throwOnLimit', throwOnLimit, BOOLEANS);
  if (throwOnLimit && limits.handler !== undefined) {
    const message = 'Expected only one of `throwOnLimit` and `handler`, got both';
    throw new FloodgateError(CODE, message);
  }
  return { throwOnLimit, limits };
}

export interface ReadPluginOptions extends ReadHookOptions {
  readonly hook: LimitingHook;
  readonly global: boolean;
}

export function readPluginOptions(options: RateLimitPluginOptions): ReadPluginOptions {
  const { hook = 'onRequest', global = true, ...others } = options;
  check('hook', hook, HOOKS);
  check('global', global, BOOLEANS);
  // Without `global` there may be no limit; the limiter is told so.
  return { hook, global, ...readHookOptions(others as RateLimitOptions) };
}

export interface ReadRouteOptions {
  readonly replace: boolean;
  readonly limits: LimiterOptions;
}

export function readRouteOptions(options: RouteRateLimitOptions): ReadRouteOptions {
  if (typeof options !== 'object' || options === null) {
    throw invalid('config.rateLimit', 'false or an object', options);
  }
  for (const name of OF_PLUGIN) {
    if (name in options) {
      const message = `Expected no \`${name}\` in \`config.rateLimit\`: it is an option of the plugin`;
      throw new FloodgateError(CODE, message);
    }
  }
  const { replace = false, ...limits } = options;
  check('replace', replace, BOOLEANS);
  return { replace, limits };
}

const CODE = 'FLOODGATE_INVALID_OPTION';
const HOOKS: readonly LimitingHook[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler'];
const BOOLEANS = [true, false];
const OF_PLUGIN = ['hook', 'global', 'throwOnLimit'];

function check(option: string, value: unknown, allowed: readonly unknown[]): void {
  if (!allowed.includes(value)) {
    throw invalid(option, allowed.map((one) => inspect(one)).join(' or '), value);
  }
}

function invalid(option: string, expectation: string, got: unknown): FloodgateError {
  const value = inspect(got, {
    depth: 0,
    maxStringLength: 60,
    breakLength: Number.POSITIVE_INFINITY,
  });
  return new FloodgateError(CODE, `Expected \`${option}\` to be ${expectation}, got \`${value}\``);
}
