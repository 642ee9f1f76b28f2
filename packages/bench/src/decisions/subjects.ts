import { floors, reference } from './floors.ts';
import { ourLimiters, ourStores } from './ours.ts';
import { peers } from './peers.ts';
import type { Subject } from './subject.ts';

/** What `pnpm bench store` and `pnpm bench limiter` compare, in the order of the table. */
export const comparisons: Readonly<Record<ComparisonName, readonly Subject[]>> = {
  store: [...floors, ...ourStores, ...peers],
  limiter: [reference, ...ourLimiters],
};

export type ComparisonName = 'store' | 'limiter';

export function subjectNamed(name: string): Subject {
  const subject = [...comparisons.store, ...comparisons.limiter].find((one) => one.name === name);
  if (subject === undefined) throw new Error(`There is no subject \`${name}\``);
  return subject;
}
