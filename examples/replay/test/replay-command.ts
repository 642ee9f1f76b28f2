import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const root = resolve(__dirname, '..');

/** The log of which it is known how many requests each quota denies. */
export const accessLog: string = resolve(__dirname, 'data/access.log');

/** Runs the command for real. */
export function runReplay(args: readonly string[], input: string = ''): Promise<CommandResult> {
  const program = ['--conditions=@floodgate/source', '--import', 'tsx', 'src/main.ts'];
  const child = spawn(process.execPath, [...program, ...args], { cwd: root });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // A command that does not read to the end closes its side first.
  child.stdin.on('error', () => {}).end(input, 'latin1');
  return new Promise((done, failed) => {
    child.on('error', failed).on('close', (code) => done({ code, stdout, stderr }));
  });
}
