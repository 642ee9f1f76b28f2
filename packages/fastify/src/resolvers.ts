import {
  byIp as byIpOf,
  byUser as byUserOf,
  type IpOptions,
  type KeyResolver,
  type UserId,
} from '@floodgate/http';
import type { FastifyRequest } from 'fastify';

// What `fastify.register` takes does not say whose request it is, so here it is Fastify's unless said otherwise.

/** By the user that `find` answers; there is none for `undefined`, `null`, `false` and `''`. */
export const byUser: <Request = FastifyRequest>(
  find: (request: Request) => Answer | Promise<Answer>,
) => KeyResolver<Request> = byUserOf;

/** By the client's address. */
export const byIp: <Request = FastifyRequest>(
  options?: IpOptions<Request>,
) => KeyResolver<Request> = byIpOf;

type Answer = UserId | false | null | undefined;
