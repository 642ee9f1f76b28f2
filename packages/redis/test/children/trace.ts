import type { Call } from './timelines.ts';

/** A call that a store answered: in which turn, and when. */
export interface Traced {
  readonly sequence: number;
  /** Of those that travelled in one call. */
  readonly order: number;
  /** The server's time; 0 where the call does not go by it. */
  readonly timeMs: number;
  readonly call: Call;
  readonly answer: unknown;
}

/** JSON has no infinity. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, field) =>
    field === Number.POSITIVE_INFINITY ? 'never' : field,
  );
}
