/** What is asked of the model. */
export interface Prompt {
  readonly prompt: string;
  readonly max_tokens: number;
}

export const promptSchema = {
  body: {
    type: 'object',
    required: ['prompt'],
    properties: {
      prompt: { type: 'string', pattern: '\\S', maxLength: 20_000 },
      max_tokens: { type: 'integer', minimum: 1, maximum: 2000, default: 200 },
    },
  },
} as const;

/** Tokens that the model has counted. */
export interface Usage {
  readonly prompt: number;
  readonly completion: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What was used so far; undefined before the first token of the answer. */
    usage: Usage | undefined;
  }
}
