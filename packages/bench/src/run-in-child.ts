import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ChildTaskName, ChildTasks } from './child-tasks.ts';
import { showProgress } from './progress.ts';

type Input<Name extends ChildTaskName> = Parameters<ChildTasks[Name]>[0];
type Output<Name extends ChildTaskName> = Awaited<ReturnType<ChildTasks[Name]>>;

/**
 * Does a task in a process of its own: what was compiled, collected or cached for another one is not there.
 *
 * @throws where the process ends without an answer
 */
export function runInChild<Name extends ChildTaskName>(
  name: Name,
  input: Input<Name>,
  nodeOptions: readonly string[] = [],
): Promise<Output<Name>> {
  const child = startChild(name, input, nodeOptions);
  return new Promise((resolve, reject) => {
    child.once('message', (result) => resolve(result as Output<Name>));
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      reject(new Error(`The process for ${name} ended without an answer (${signal ?? code})`));
    });
  });
}

/** Starts a task that goes on until its process is told to end. */
export function startChild<Name extends ChildTaskName>(
  name: Name,
  input: Input<Name>,
  nodeOptions: readonly string[] = [],
): ChildProcess {
  showProgress(`${name} ${Object.values(input).join(', ')}`);
  const child = fork(childFile, { execArgv: [...process.execArgv, ...nodeOptions] });
  child.send({ name, input });
  return child;
}

const childFile = fileURLToPath(new URL('./child.ts', import.meta.url));
