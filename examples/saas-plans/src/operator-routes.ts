import type { Duration, FloodgateError } from '@floodgate/express';
import express, { type Request, type Response, Router } from 'express';
import type { Accounts } from './accounts.ts';
import { sendError } from './answers.ts';
import { shortened } from './log-lines.ts';
import type { Operations, Whose } from './operations.ts';
import { PLAN_NAMES, type PlanName } from './plans.ts';

type ById = Request<{ id: string }>;

/** What an operator does with the limits of users, or of API keys: to look, block, unblock and reset. */
export function limitRoutes(
  kind: Whose['kind'],
  operations: Operations,
  log: (line: string) => void,
): Router {
  const router = Router();

  router.get('/:id', async ({ params: { id } }: ById, response) => {
    const seen = await operations.inspect({ kind, id });
    if (seen === undefined) sendNobody(response, kind);
    else response.set('Cache-Control', 'no-store').json(seen);
  });

  // To say it twice changes nothing, and is no mistake: 204 as well.
  router.delete('/:id', async ({ params: { id } }: ById, response) => {
    finish(response, await operations.reset({ kind, id }), 'reset', id);
  });

  router.post('/:id/block', express.json(), async ({ params: { id }, body }: ById, response) => {
    const { duration } = Object(body) as { duration?: Duration };
    try {
      const isDone = await operations.block({ kind, id }, duration as Duration);
      finish(response, isDone, `blocked for ${duration}`, id);
    } catch (error) {
      if ((error as Partial<FloodgateError>).code !== 'FLOODGATE_INVALID_OPTION') throw error;
      sendError(response, 400, 'WRONG_DURATION', (error as Error).message);
    }
  });

  router.delete('/:id/block', async ({ params: { id } }: ById, response) => {
    finish(response, await operations.unblock({ kind, id }), 'unblocked', id);
  });

  /** Answers, and keeps who was dealt with how: one day somebody will ask. */
  function finish(response: Response, isDone: boolean, deed: string, id: string): void {
    if (!isDone) {
      sendNobody(response, kind);
      return;
    }
    log(`operator  ${kind === 'user' ? `user:${id}` : shortened(id)}  ${deed}`);
    response.status(204).end();
  }

  return router;
}

/** Which plan a user has. It is what the next request is limited by, and what was used stays used. */
export function planRoutes(accounts: Accounts, log: (line: string) => void): Router {
  const router = Router();
  router.put('/:id/plan', express.json(), async ({ params: { id }, body }: ById, response) => {
    const { plan } = Object(body) as { plan?: PlanName };
    if (plan === undefined || !PLAN_NAMES.includes(plan)) {
      const expectation = `Expected a body such as {"plan":"pro"}, with one of ${PLAN_NAMES.join(', ')}.`;
      sendError(response, 400, 'WRONG_PLAN', expectation);
    } else if (await accounts.setPlan(id, plan)) {
      log(`operator  user:${id}  has the plan ${plan}`);
      response.status(204).end();
    } else {
      sendNobody(response, 'user');
    }
  });
  return router;
}

/** What was asked for is not said again: it may be an API key, put where its id belongs. */
function sendNobody(response: Response, kind: Whose['kind']): void {
  const what = kind === 'user' ? 'user' : 'API key';
  sendError(response, 404, 'NOBODY', `There is no such ${what}.`);
}
