import type { Scenario } from './scenario.ts';
import { addresses } from './scenarios/addresses.ts';
import { crossOrigin } from './scenarios/cross-origin.ts';
import { denials } from './scenarios/denials.ts';
import { headersOfDrafts } from './scenarios/drafts.ts';
import { keysAndModes } from './scenarios/keys-and-modes.ts';
import { headersOfLegacy } from './scenarios/legacy.ts';
import { plans } from './scenarios/plans.ts';
import { severalPolicies } from './scenarios/policies.ts';
import { responses } from './scenarios/responses.ts';
import { routes } from './scenarios/routes.ts';
import { settling } from './scenarios/settling.ts';
import { severalLimiters } from './scenarios/several-limiters.ts';
import { storeFailures } from './scenarios/store-failures.ts';

/**
 * What every adapter does, request by request and byte for byte. All numbers are worked out from the definitions of the
 * algorithms and of the header fields, and none is taken from an answer.
 */
export const scenarios: readonly Scenario[] = [
  ...headersOfLegacy,
  ...severalPolicies,
  ...severalLimiters,
  ...plans,
  ...settling,
  ...headersOfDrafts,
  ...crossOrigin,
  ...denials,
  ...responses,
  ...routes,
  ...addresses,
  ...keysAndModes,
  ...storeFailures,
];
