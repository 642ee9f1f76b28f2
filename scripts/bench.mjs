// Sets up, builds, and measures what would be published. Arguments go to the benchmark.
import { spawnSync } from 'node:child_process';
import { root, setUp } from './set-up.mjs';

const env = setUp();
const bench = 'exec turbo run bench --filter=@floodgate/bench --log-prefix=none --'.split(' ');
const { status } = spawnSync('pnpm', [...bench, ...process.argv.slice(2)], {
  cwd: root,
  env,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
