// Sets up, then runs every check, each to its end whatever the others say. The last line counts the
// tests; a check that fails without a failed test (a lint, a build, a crash) counts as one failure.
import { spawn, spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { root, setUp } from './set-up.mjs';

// A cached task replays its output, counts and all; CI trusts nothing but a run. More tasks at once than a small machine
// has processors would only make each other late.
const flags = `--continue --log-order=grouped --concurrency=2 ${process.env.CI ? '--force' : ''}`;

/** What pnpm is asked for. */
const checks = {
  lint: 'run lint',
  build: `exec turbo run build ${flags}`,
  typecheck: `exec turbo run typecheck ${flags}`,
  test: `exec turbo run test ${flags}`,
  'check:package': `exec turbo run check:package ${flags}`,
};

const results = [];
try {
  const env = setUp();
  obtainRedis(env);
  for (const [name, command] of Object.entries(checks)) {
    results.push({ name, ...(await run(command, env)) });
  }
} catch (error) {
  console.error(error.message);
  results.push({ name: 'set-up', passed: 0, failed: 1 });
}

console.log();
for (const { name, failed, failures = [] } of results) {
  console.log(`${failed ? 'FAILED' : 'ok    '} ${name}`);
  for (const failure of failures) console.log(`         ${failure}`);
}
const total = (field) => results.reduce((sum, result) => sum + result[field], 0);
console.log(`${total('passed')} passed, ${total('failed')} failed`);
process.exitCode = total('failed') ? 1 : 0;

/** Finds the Redis server that tests start, or fetches it: once, and not in the middle of tests that wait for it. */
function obtainRedis(env) {
  const program = ['--import', 'tsx', 'packages/test-redis/src/main.ts'];
  const { status, stderr } = spawnSync(process.execPath, program, {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  if (status !== 0) throw new Error(stderr.trim());
}

/** Runs pnpm, showing its output, and counts the tests that jest reports in it. */
async function run(command, env) {
  const child = spawn('pnpm', command.trim().split(' '), {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      process.stdout.write(text);
    });
  }
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });

  const text = stripVTControlCharacters(output);
  const summaries = text.match(/Tests: .* total$/gm) ?? [];
  const count = (word) =>
    summaries.reduce((sum, line) => sum + Number(line.match(`(\\d+) ${word}`)?.[1] ?? 0), 0);
  const failed = count('failed');
  // By name and near the end, where whoever sees no more of a long log than that finds them.
  const failures = new Set(text.match(/● (?!Console$).+$/gm));
  return { passed: count('passed'), failed: code === 0 ? failed : Math.max(failed, 1), failures };
}
