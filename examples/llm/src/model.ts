/** A language model, or what stands for one here. */
export interface Model {
  /**
   * The tokens of an answer, at most `maxTokens`, each when it is generated. Ends early, without an error, when the
   * signal aborts.
   *
   * @throws ModelError where the model fails, at whatever token
   */
  generate(prompt: string, maxTokens: number, signal: AbortSignal): AsyncGenerator<string>;
}

/** Fastify answers it with its status. */
export class ModelError extends Error {
  readonly statusCode: number = 502;
}

/** Waits for so many milliseconds, or until the signal aborts: then it rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Fifty tokens a second. */
export const MS_PER_TOKEN = 20;

/**
 * A model that anybody can foretell: asked to "count to 3" it counts, anything else it repeats word by word, and told to
 * "fail at 2" it does so in the second token's place.
 */
export function fakeModel(sleep: Sleep): Model {
  return {
    async *generate(prompt, maxTokens, signal) {
      const failsAt = numberAfter('fail at', prompt);
      let count = 0;
      for (const token of answerTo(prompt)) {
        if (count === maxTokens) return;
        count += 1;
        await sleep(MS_PER_TOKEN, signal).catch(() => {});
        if (signal.aborted) return;
        if (count === failsAt) throw new ModelError('The model failed');
        yield token;
      }
    },
  };
}

/** How many tokens the model reads in a prompt: here a word is one. A real one says so beside its answer. */
export function promptTokens(prompt: string): number {
  return wordsOf(prompt).length;
}

/** What can be said without asking the model, and is close enough: four characters are a token. */
export function guessPromptTokens(prompt: string): number {
  return Math.ceil(prompt.length / 4);
}

function* answerTo(prompt: string): Generator<string> {
  const last = numberAfter('count to', prompt);
  if (last === undefined) yield* wordsOf(prompt).map((word) => `${word} `);
  else for (let number = 1; number <= last; number += 1) yield `${number} `;
}

function numberAfter(words: string, prompt: string): number | undefined {
  const [, number] = new RegExp(`${words} (\\d+)`, 'i').exec(prompt) ?? [];
  return number === undefined ? undefined : Number(number);
}

function wordsOf(text: string): readonly string[] {
  return text.match(/\S+/g) ?? [];
}
