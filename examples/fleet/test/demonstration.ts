import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** What the demonstration left behind. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Its temporary files and folders that are still there. */
  readonly left: readonly string[];
}

export interface DemonstrationOptions {
  readonly env: Readonly<Record<string, string>>;
  /** Which of its parts alone. @default all */
  readonly part?: string;
  /** When what it printed matches, Ctrl-C is pressed. @default never */
  readonly interruptAt?: RegExp;
}

/** Runs the demonstration as from a terminal, until it and all of its processes have ended. */
export async function demonstrate({
  env,
  part,
  interruptAt,
}: DemonstrationOptions): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), 'floodgate-fleet-test-'));
  // As the start script has them.
  const imports = ['--import', '../../scripts/lua.mjs', '--import', 'tsx'];
  const child = spawn(
    process.execPath,
    ['--conditions=@floodgate/source', ...imports, 'src/main.ts', ...(part ? [part] : [])],
    {
      cwd: resolve(__dirname, '..'),
      env: { ...process.env, REDIS_URL: '', BALANCER: 'proxy', TMPDIR: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, to which a terminal sends Ctrl-C.
      detached: true,
    },
  );
  const printed = { stdout: '', stderr: '' };
  let isInterrupted = false;
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      printed[stream] += text;
      if (isInterrupted || !interruptAt?.test(printed.stdout)) return;
      isInterrupted = true;
      process.kill(-Number(child.pid), 'SIGINT');
    });
  }
  try {
    // Not `exit`: the processes that it started have its output, too.
    const [code] = await once(child, 'close');
    // Others, such as a cache of tsx, are not its own.
    const left = readdirSync(folder).filter((name) => name.startsWith('floodgate-'));
    return { ...printed, code, left };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A row of a table: its title, and its numbers. */
export type Row = readonly [string, ...number[]];

/** The tables that it printed, without their heads. */
export function tablesOf(stdout: string): Row[][] {
  return [...stdout.matchAll(/┤\n(.+?)└/gs)].map(([, body = '']) => {
    const lines = body.trimEnd().split('\n');
    const cells = lines.map((line) => line.split('│').slice(1, -1));
    return cells.map(([title = '', ...numbers]) => [title.trim(), ...numbers.map(Number)]);
  });
}
