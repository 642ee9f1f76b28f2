import { text } from 'node:stream/consumers';
import { runLimits } from './limits-command.ts';
import { operationsBy } from './remote-operations.ts';

const { SERVER_URL: url = 'http://localhost:3000', OPERATOR_TOKEN: token = '' } = process.env;

process.exitCode = await runLimits(process.argv.slice(2), {
  // On a store that is shared, the server need not be asked:
  // operationsOn(new HttpLimiter({ ...customerLimits(accounts), store }), accounts)
  operations: operationsBy({ url, token }),
  input: () => text(process.stdin),
  print: (output) => void process.stdout.write(output),
  complain: (output) => void process.stderr.write(output),
});
