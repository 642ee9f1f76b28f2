// For Floodgate's own packages, which are released together: it may change with any version.

export { sleep, systemClock } from './clock.ts';
export { toMilliseconds } from './duration.ts';
export { checkOptions, invalid, isFloodgateError, messageOf, toError } from './errors.ts';
export { callHook, reportEvent } from './events.ts';
export {
  andThen,
  type Awaitable,
  isPromise,
  type MaybePromise,
  runSteps,
  type Steps,
  wait,
} from './maybe-promise.ts';
export { combineVerdicts, giveBack, isUnsettled, tightestOf } from './verdict.ts';
