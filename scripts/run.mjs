// Sets up, then becomes the TypeScript program that is named first, with the arguments that follow:
// `node --conditions=@floodgate/source scripts/run.mjs examples/replay/src/main.ts access.log`.
// It runs in this very process, so that signals, standard input and the exit code are its own.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import './lua.mjs';
import { root, setUp } from './set-up.mjs';

const [entry, ...rest] = process.argv.slice(2);
const program = resolve(root, entry);

try {
  setUp();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}

// Only now is it installed.
const { register } = await import('tsx/esm/api');
register();
process.argv = [process.execPath, program, ...rest];
// npm and pnpm start scripts in the root; a file's name is relative to where the user was.
process.chdir(process.env.INIT_CWD ?? process.cwd());
await import(pathToFileURL(program).href);
