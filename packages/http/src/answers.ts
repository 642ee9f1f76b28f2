import { invalid } from '@floodgate/core/internal';
import type { Mode } from './options.ts';

// What functions in options answer, checked: a wrong answer must not count for one that was not given.

const CODE = 'FLOODGATE_INVALID_OPTION';

/** What a function says to the client. */
export function readText(answer: unknown, option: string): string {
  if (typeof answer === 'string') return answer;
  throw invalid(CODE, option, 'a function that answers a text', answer);
}

/** Whether a function said yes. Only true and false will do: a forgotten `return` must not lift a limit. */
export function readBoolean(answer: unknown, option: string): boolean {
  if (typeof answer === 'boolean') return answer;
  throw invalid(CODE, option, 'a function that answers true or false', answer);
}

export function readMode(answer: unknown): Mode {
  if (answer === 'enforce' || answer === 'shadow' || answer === 'off') return answer;
  throw invalid(CODE, 'mode', "a function that answers 'enforce', 'shadow' or 'off'", answer);
}

export function readUnits(answer: unknown, option: string): number {
  if (Number.isSafeInteger(answer) && (answer as number) >= 0) return answer as number;
  throw invalid(CODE, option, 'a function that answers a whole number, 0 or more', answer);
}
