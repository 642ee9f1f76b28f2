import { compare } from './decisions/compare.ts';
import { serve } from './http/serve.ts';
import { holdLoop } from './loop/hold-loop.ts';
import { measureMemory } from './memory/measure-memory.ts';

/** What can be asked of a child process, by name: each takes plain data and answers plain data. */
export const childTasks: ChildTasks = { compare, holdLoop, measureMemory, serve };

export interface ChildTasks {
  readonly compare: typeof compare;
  readonly holdLoop: typeof holdLoop;
  readonly measureMemory: typeof measureMemory;
  readonly serve: typeof serve;
}

export type ChildTaskName = keyof ChildTasks;
