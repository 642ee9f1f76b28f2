import { text } from 'node:stream/consumers';
import { openStore } from '@floodgate/example-open-store';
import { HttpLimiter } from '@floodgate/express';
import { MemoryAccounts } from './accounts.ts';
import { DEMO_USERS } from './demo-users.ts';
import { runLimits } from './limits-command.ts';
import { operationsOn } from './operations.ts';
import { customerLimits } from './plans.ts';
import { operationsBy } from './remote-operations.ts';

const {
  SERVER_URL: url = 'http://localhost:3000',
  OPERATOR_TOKEN: token = '',
  REDIS_URL: redisUrl = '',
} = process.env;

// As the server has them; a real one would have them in a database, where both look.
const accounts = new MemoryAccounts(DEMO_USERS);
const { store, close } = await openStore(redisUrl);
// What fails, the command says itself.
const limits = { ...customerLimits(accounts), store, onEvent: () => {} };

process.exitCode = await runLimits(process.argv.slice(2), {
  // Counts in a server's memory are out of reach; for those in Redis no server need be asked.
  operations:
    redisUrl === ''
      ? operationsBy({ url, token })
      : operationsOn(new HttpLimiter(limits), accounts),
  input: () => text(process.stdin),
  print: (output) => void process.stdout.write(output),
  complain: (output) => void process.stderr.write(output),
});
close();
