import { expect, test } from '@jest/globals';
import { fakeModel } from '../src/model.ts';

const atOnce = async (): Promise<void> => {};

async function answer(prompt: string, maxTokens = 100): Promise<string> {
  let text = '';
  const { signal } = new AbortController();
  for await (const token of fakeModel(atOnce).generate(prompt, maxTokens, signal)) text += token;
  return text;
}

test('counts, or repeats what was said', async () => {
  expect(await answer('Please count to 3')).toBe('1 2 3 ');
  expect(await answer('To be,\n or not')).toBe('To be, or not ');
});

test('stops at the most that was asked for', async () => {
  expect(await answer('Count to 30', 2)).toBe('1 2 ');
});

test('fails where it is told to', async () => {
  await expect(answer('Count to 3, and fail at 3')).rejects.toThrow('The model failed');
  expect(await answer('Count to 3, and fail at 4')).toBe('1 2 3 ');
});

test('stops when the signal aborts, without an error', async () => {
  const gone = new AbortController();
  const tokens = [];
  for await (const token of fakeModel(atOnce).generate('Count to 30', 100, gone.signal)) {
    if (tokens.push(token) === 2) gone.abort();
  }
  expect(tokens).toEqual(['1 ', '2 ']);
});
