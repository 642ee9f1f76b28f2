import { createHash, timingSafeEqual } from 'node:crypto';
import { keys, type RateLimitMiddleware } from '@floodgate/express';
import type { Request, RequestHandler } from 'express';
import type { Accounts, ApiKey } from './accounts.ts';
import { sendError } from './answers.ts';

declare global {
  namespace Express {
    interface Request {
      /** The API key that the request was sent with, once it was found. */
      customer?: ApiKey;
    }
  }
}

/** Lets requests with a known API key on, as its owner's. */
export function customersOnly(accounts: Accounts, refusals: RateLimitMiddleware): RequestHandler {
  return guard(
    refusals,
    async (request) => {
      const secret = request.get('X-API-Key') ?? '';
      const customer = secret === '' ? undefined : await accounts.apiKey(keys.apiKey(secret));
      if (customer !== undefined) request.customer = customer;
      return customer !== undefined;
    },
    'ApiKey realm="customers"',
    'Expected a valid API key in X-API-Key.',
  );
}

/** Lets requests with the operator's token on. */
export function operatorOnly(token: string, refusals: RateLimitMiddleware): RequestHandler {
  const expected = digest(token);
  return guard(
    refusals,
    (request) => {
      const [, given = ''] = /^Bearer +(\S+)$/i.exec(request.get('Authorization') ?? '') ?? [];
      // Digests have one length, and how long the comparison takes says nothing of how much was right.
      return timingSafeEqual(digest(given), expected) && given !== '';
    },
    'Bearer realm="operator"',
    "Expected the operator's token in Authorization.",
  );
}

/**
 * Lets on who `proves` to be somebody. Anyone else is answered 401, and counted by `refusals`; an address with too many
 * of these is answered 429 without another look, right or wrong.
 *
 * Only refusals count, so guesses that come at the same moment are all looked at. For passwords that would be wrong; a
 * secret of 32 random bytes is not guessed by some thousand tries. To reserve a refusal for each request and give it back
 * would be exact, but customers with many requests under way would deny themselves.
 */
function guard(
  refusals: RateLimitMiddleware,
  proves: (request: Request) => boolean | Promise<boolean>,
  challenge: string,
  message: string,
): RequestHandler {
  return async (request, response, next) => {
    const { ip } = request;
    // Without an address, `refusals` knows what to do: the connection is closed, or came by a socket that has none.
    const mayAsk = ip !== undefined && (await refusals.peek(keys.ip(ip))).allowed;
    if (mayAsk && (await proves(request))) {
      next();
      return;
    }
    refusals(request, response, (error) => {
      if (error !== undefined) {
        next(error);
        return;
      }
      response.set('WWW-Authenticate', challenge);
      sendError(response, 401, 'UNAUTHORIZED', message);
    });
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
