import type { Verdict } from '@floodgate/core';
import { checkOptions, isUnsettled, messageOf } from '@floodgate/core/internal';
import { readUnits } from './answers.ts';
import { checkFunction } from './checks.ts';
import type { ResponseEnd, SettleFunction } from './options.ts';
import type { HttpPolicy } from './policies.ts';
import type { RequestRecord } from './request-record.ts';
import type { RequestView } from './request-view.ts';

/** Which responses count. */
export interface SettleOptions<Request> {
  readonly when?: (end: ResponseEnd, request: Request) => boolean;
}

/**
 * A `settle` for limits on failures: a request counts where its response is one, and is given back where not. Where the
 * client went away before it was answered, nobody knows, and it counts.
 *
 * @param options `when` says which responses are failures. @default those with a status from 400 to 499
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION`
 *
 * @example
 * rateLimit({ name: 'sign-in', quota: 'sliding-window-log 5/15m block=15m', settle: onlyFailures() });
 */
export function onlyFailures<Request>(
  options: SettleOptions<Request> = {},
): SettleFunction<Request> {
  const isFailure = readWhen(options) ?? (({ status }) => status >= 400 && status <= 499);
  return (end, request, reserved) => (isUnanswered(end) || isFailure(end, request) ? reserved : 0);
}

/**
 * A `settle` for limits on what succeeds: a request counts where its response is a success, and is given back where not.
 *
 * @param options `when` says which responses are successes. @default those with a status below 400
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION`
 */
export function onlySuccesses<Request>(
  options: SettleOptions<Request> = {},
): SettleFunction<Request> {
  const isSuccess = readWhen(options) ?? (({ status }) => status < 400);
  return (end, request, reserved) => (isSuccess(end, request) ? reserved : 0);
}

function readWhen<Request>(options: SettleOptions<Request>): SettleOptions<Request>['when'] {
  checkOptions('FLOODGATE_INVALID_OPTION', 'settle options', options, ['when']);
  checkFunction(options.when, 'when');
  return options.when;
}

function isUnanswered({ status, completed }: ResponseEnd): boolean {
  return status === 499 && !completed;
}

/**
 * Settles what policies with a `settle` reserved, when the response has ended: once for each, and not what was settled
 * or given back before. `onFailed` is told of a `settle` that throws; what was reserved is the true cost then.
 */
export function settleAtEnd<Request>(
  view: RequestView<Request>,
  record: RequestRecord<Request>,
  verdict: Verdict,
  policies: readonly HttpPolicy<Request>[],
  onFailed: (message: string, error: unknown) => void,
): void {
  const settleAll = (): void => {
    for (const policy of policies) void settleOne(policy, view, verdict, onFailed);
  };
  const settle = (): void => {
    // A limiter that is deciding still may give back what was reserved, but not of what was answered without it.
    if (isUnanswered(view.responseEnd)) record.whenDecided(settleAll);
    else settleAll();
  };
  if (view.isClosed) settle();
  else view.onClose(settle);
}

async function settleOne<Request>(
  { name, settle }: HttpPolicy<Request>,
  view: RequestView<Request>,
  verdict: Verdict,
  onFailed: (message: string, error: unknown) => void,
): Promise<void> {
  if (settle === undefined || !isUnsettled(verdict, name)) return;
  const reserved = verdict.decision(name)?.cost as number;
  let trueCost = reserved;
  try {
    trueCost = readUnits(await settle(view.responseEnd, view.request, reserved), 'settle');
  } catch (error) {
    // By hand, meanwhile.
    if (!isUnsettled(verdict, name)) return;
    onFailed(
      `\`settle\` of policy \`${name}\` failed, so what was reserved stands: ${messageOf(error)}`,
      error,
    );
  }
  await verdict.settle({ [name]: trueCost });
}
