import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { halfPrice } from './limits.ts';
import { type Model, ModelError, promptTokens } from './model.ts';
import type { Prompt } from './prompt.ts';

type PromptRequest = FastifyRequest<{ Body: Prompt }>;

type Handler = (request: PromptRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>;

/**
 * Answers with server-sent events, a token each. It only notes what was used: when the response has ended, or was cut
 * off, `settle` of the policy reads that.
 */
export function streamedBy(model: Model): Handler {
  return async (request, reply) => {
    const tokens = generate(model, request, reply);
    // Until the first token is there, a failure still has a status of its own.
    const first = await tokens.next();
    return reply
      .type('text/event-stream')
      .header('Cache-Control', 'no-store')
      .send(Readable.from(eventsOf(first, tokens, request)));
  };
}

/**
 * Answers once the answer is whole. Its price is known before it is sent, so it is settled here: whoever has the answer
 * finds the rest given back already.
 */
export function wholeBy(model: Model): Handler {
  return async (request, reply) => {
    let text = '';
    for await (const token of generate(model, request, reply)) text += token;
    // The client is gone: `settle` of the policy has seen to it.
    if (reply.raw.closed) return undefined;
    const { usage, rateLimit } = request;
    const charged = usage === undefined ? 0 : halfPrice(usage);
    await rateLimit?.settle({ tokens: charged });
    return reply.send({ text, usage, charged });
  };
}

/**
 * The tokens of the answer, each noted on the request before it is handed on: wherever it ends up, it was generated.
 * The model stops when the client is gone.
 */
async function* generate(
  model: Model,
  request: PromptRequest,
  reply: FastifyReply,
): AsyncGenerator<string> {
  const { prompt, max_tokens } = request.body;
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  let completion = 0;
  for await (const token of model.generate(prompt, max_tokens, gone.signal)) {
    completion += 1;
    request.usage = { prompt: promptTokens(prompt), completion };
    yield token;
  }
}

async function* eventsOf(
  first: IteratorResult<string>,
  rest: AsyncIterable<string>,
  request: PromptRequest,
): AsyncGenerator<string> {
  try {
    if (first.done !== true) yield event('token', { text: first.value });
    for await (const text of rest) yield event('token', { text });
    yield event('done', { usage: request.usage });
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    yield event('error', { message: error.message, usage: request.usage });
  }
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
