import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

export interface ChildOutput {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of `children/` in a process of its own, to its end; rejects where that is not a good one. */
export function runChild(
  file: string,
  { nodeOptions = [], env = {} }: { nodeOptions?: string[]; env?: Record<string, string> } = {},
): Promise<ChildOutput> {
  return promisify(execFile)(
    process.execPath,
    [
      '--conditions=@floodgate/source',
      `--import=${pathToFileURL(join(__dirname, 'children/typescript.mjs'))}`,
      ...nodeOptions,
      join(__dirname, 'children', file),
    ],
    { cwd: join(__dirname, '..'), env: { ...process.env, ...env } },
  );
}
