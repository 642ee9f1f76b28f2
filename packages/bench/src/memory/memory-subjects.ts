import { floors } from '../decisions/floors.ts';
import { budgetedStores } from '../decisions/ours.ts';
import { peers } from '../decisions/peers.ts';
import { type Contestant, LONG_MS, type Subject } from '../decisions/subject.ts';

/** Something whose memory is measured, and how it meets its keys. */
export interface MemorySubject {
  readonly name: string;
  readonly prepare: (keyCount: number) => Contestant;
  readonly meet: (contestant: Contestant, keys: readonly string[]) => Promise<void>;
  /** Bytes a key that we want to stay below. */
  readonly atMost?: number;
}

function once(subject: Subject, atMost?: number): MemorySubject {
  return {
    name: subject.name,
    prepare: (keyCount) => subject.prepare({ outcome: 'admitted', keyCount }),
    meet: async ({ decide }, keys) => decide(keys),
    ...(atMost !== undefined && { atMost }),
  };
}

/** A sliding counter has a second number for each key that came in the window before, too. */
function inTwoWindows(subject: Subject): MemorySubject {
  let nowMs = Date.now();
  return {
    name: `${subject.name}, second window`,
    prepare: (keyCount) =>
      subject.prepare({ outcome: 'admitted', keyCount, clock: { now: () => nowMs } }),
    meet: async ({ decide }, keys) => {
      await decide(keys);
      nowMs += LONG_MS;
      await decide(keys);
    },
    atMost: 100,
  };
}

/** The clock alone holds nothing, and the awaited bucket what the bucket holds. */
const measuredFloors = floors.slice(1, 3);

export const memorySubjects: readonly MemorySubject[] = [
  ...measuredFloors.map((subject) => once(subject)),
  ...budgetedStores.map((subject) => once(subject, 80)),
  ...budgetedStores.filter(({ name }) => name.includes('sliding counter')).map(inTwoWindows),
  ...peers.map((subject) => once(subject)),
];

export function memorySubjectNamed(name: string): MemorySubject {
  const subject = memorySubjects.find((one) => one.name === name);
  if (subject === undefined) throw new Error(`There is no subject \`${name}\``);
  return subject;
}
