import { byUser as byUserOf, type KeyResolver, type UserId } from '@floodgate/http';
import type { FastifyRequest } from 'fastify';

/**
 * By the user that `find` answers; there is none for `undefined`, `null`, `false` and `''`. What `fastify.register`
 * takes does not say whose request it is, so here it is Fastify's unless said otherwise.
 */
export const byUser: <Request = FastifyRequest>(
  find: (request: Request) => Answer | Promise<Answer>,
) => KeyResolver<Request> = byUserOf;

type Answer = UserId | false | null | undefined;
