import { keys } from '@floodgate/express';
import type { Operations, Whose } from './operations.ts';

export const USAGE = `limits inspect user ID            what a user has left
limits block user ID DURATION    deny a user for some time, such as 15m
limits unblock user ID           lift the block; what was counted stays
limits reset user ID             forget what was counted, and the block

The same of one API key: "key ID", with an id such as "inspect" shows, or "key -" to read the key itself from standard
input. (On a command line, everybody on the machine could read it.)
`;

/** How a command ended: 0, 1 where there is nobody like that or it failed, 2 where it was not understood. */
export type ExitCode = 0 | 1 | 2;

export interface CommandContext {
  readonly operations: Operations;
  /** All of standard input. */
  readonly input: () => Promise<string>;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

/**
 * Runs the command line of an operator.
 *
 * @example
 * await runLimits(['block', 'user', '42', '15m'], context);
 */
export async function runLimits(
  args: readonly string[],
  { operations, input, print, complain }: CommandContext,
): Promise<ExitCode> {
  const [verb = '', kind, id = '', duration = '', ...rest] = args;
  const isBlock = verb === 'block';
  const isKnown = isBlock || verb === 'inspect' || verb === 'unblock' || verb === 'reset';
  const isComplete = id !== '' && isBlock === (duration !== '') && rest.length === 0;
  if (!isKnown || (kind !== 'user' && kind !== 'key') || !isComplete) {
    complain(USAGE);
    return 2;
  }
  // What is no id may be an API key, and is sent and shown nowhere.
  if (kind === 'key' && id !== '-' && !/^key:[\w-]{43}$/.test(id)) {
    complain('Expected the id of an API key, or - for the key itself from standard input\n');
    return 2;
  }
  try {
    const whose: Whose = { kind, id: id === '-' && kind === 'key' ? await readKey(input) : id };
    if (await act(verb, whose, duration, operations, print)) return 0;
    complain(`There is no such ${kind === 'user' ? 'user' : 'API key'}\n`);
  } catch (error) {
    complain(`${messageOf(error)}\n`);
  }
  return 1;
}

/** False where there is nobody like that. */
async function act(
  verb: 'inspect' | 'block' | 'unblock' | 'reset',
  whose: Whose,
  duration: string,
  operations: Operations,
  print: (text: string) => void,
): Promise<boolean> {
  switch (verb) {
    case 'inspect': {
      const seen = await operations.inspect(whose);
      if (seen !== undefined) print(`${JSON.stringify(seen, null, 2)}\n`);
      return seen !== undefined;
    }
    case 'block':
      return operations.block(whose, duration);
    case 'unblock':
      return operations.unblock(whose);
    case 'reset':
      return operations.reset(whose);
  }
}

async function readKey(input: () => Promise<string>): Promise<string> {
  const secret = (await input()).trim();
  if (secret === '') throw new Error('Expected an API key from standard input, got nothing');
  return keys.apiKey(secret);
}

/** `fetch` says little of why it failed: its cause says more. */
function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  const { code } = Object(cause) as { code?: string };
  return code === undefined ? message : `${message}: ${code}`;
}
