import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Whoever wants to try. A real API knows only a slow hash of a password, and compares that. */
export const DEMO_USER = { user: 'ada', password: 'engine' } as const;

export const signInSchema = {
  body: {
    type: 'object',
    required: ['user', 'password'],
    properties: { user: { type: 'string' }, password: { type: 'string' } },
  },
} as const;

interface SignIn {
  Body: { readonly user: string; readonly password: string };
}

export function answerSignIn({ body }: FastifyRequest<SignIn>, reply: FastifyReply): void {
  const { user, password } = body;
  if (user === DEMO_USER.user && password === DEMO_USER.password) reply.send({ user });
  else reply.code(401).send({ error: 'The user or the password is wrong.' });
}

const DRINKS = ['black tea', 'green tea', 'coffee', 'hot chocolate', 'water'];

export function findDrinks({ query }: FastifyRequest<{ Querystring: { readonly q?: string } }>): {
  readonly results: readonly string[];
} {
  const q = String(query.q ?? '').toLowerCase();
  return { results: DRINKS.filter((drink) => drink.includes(q)) };
}

/** Counts the bytes, and keeps none. */
export async function answerUpload(
  { headers, body }: FastifyRequest<{ Body: Readable }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (headers['content-length'] === undefined) {
    return reply.code(411).send({ error: 'Expected a Content-Length: an upload costs by it.' });
  }
  let bytes = 0;
  for await (const chunk of body ?? []) bytes += (chunk as Buffer).length;
  return reply.code(201).send({ bytes });
}
