// For Floodgate's own packages, which are released together: it may change with any version.

export { carryOver, hasShape, type Shape, shapeOf } from './algorithms/carry-over.ts';
export { ChargeLog } from './algorithms/charge-log.ts';
export { refund } from './algorithms/refund.ts';
export { emptyState, type State } from './algorithms/state.ts';
export { monotonicNow, readTime, sleep, systemClock } from './clock.ts';
export { decide } from './decide.ts';
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
export { fillTimeOf, isSameQuota, limitOf, periodOf } from './quota.ts';
export { Reservations } from './reservations.ts';
export { checkCharges, checkRefunds } from './store.ts';
export { widthOf } from './take-across.ts';
export { combineVerdicts, giveBack, isAdmitted, isUnsettled, tightestOf } from './verdict.ts';
