// Lets a program import a `.lua` file as its text, as builds and tests do:
// `node --conditions=@floodgate/source --import ./scripts/lua.mjs --import tsx program.ts`.
import { register } from 'node:module';

const hook = `
  import { readFile } from 'node:fs/promises';

  export async function load(url, context, nextLoad) {
    if (!/\\.lua($|\\?)/.test(url)) return nextLoad(url, context);
    const text = await readFile(new URL(url), 'utf8');
    return { format: 'module', shortCircuit: true, source: 'export default ' + JSON.stringify(text) };
  }
`;

register(`data:text/javascript,${encodeURIComponent(hook)}`);
