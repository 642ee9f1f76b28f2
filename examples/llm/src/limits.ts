import { type PolicyOptions, type ResponseEnd, tokenBucket } from '@floodgate/fastify';
import type { FastifyRequest } from 'fastify';
import { guessPromptTokens } from './model.ts';
import type { Prompt, Usage } from './prompt.ts';

/** As many tokens as a client may use at once; all of them are back after a minute. */
const TOKENS = 600;

/** Whatever they cost, and whether or not the model answers. */
const requests: PolicyOptions<FastifyRequest> = { name: 'requests', quota: '20/1m' };

/** Those of the prompt and of the answer. What is reserved is a guess; what is settled is what the model counted. */
const tokens: PolicyOptions<FastifyRequest> = {
  name: 'tokens',
  quota: tokenBucket({ capacity: TOKENS, refillRate: 10 }),
  cost: ({ body }) => estimate(body as Prompt),
  settle: trueCost,
};

/** Both are met in one step: what one of them denies uses nothing of the other. */
export const policies: readonly PolicyOptions<FastifyRequest>[] = [requests, tokens];

/** The most that the answer can cost, or all that there is: what costs more than that is never admitted. */
function estimate({ prompt, max_tokens }: Prompt): number {
  return Math.min(TOKENS, guessPromptTokens(prompt) + max_tokens);
}

/**
 * What the model generated until the response ended, however it did: a client that went away half-way pays for the
 * half. Without a token there is nothing to pay, nor for an error in the answer's place.
 */
function trueCost({ status }: ResponseEnd, { usage }: FastifyRequest): number {
  if (usage === undefined || status >= 500) return 0;
  return usage.prompt + usage.completion;
}

/** A whole answer costs half: the model may take its time for it. */
export function halfPrice({ prompt, completion }: Usage): number {
  return Math.ceil((prompt + completion) / 2);
}
