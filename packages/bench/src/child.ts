// A child process: does the task that it is sent, sends what came of it, and ends.
import { type ChildTaskName, childTasks } from './child-tasks.ts';

process.once('message', async ({ name, input }: { name: ChildTaskName; input: never }) => {
  const result = await childTasks[name](input);
  // Timers and servers of those measured would keep the process.
  process.send?.(result, () => process.exit());
});
