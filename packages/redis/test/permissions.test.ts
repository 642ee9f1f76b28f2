import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type RedisServer, startRedis } from '@floodgate/test-redis';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { RedisStore } from '../src/index.ts';
import { ioredis6, LIBRARIES, nodeRedis6, type OpenClient, useEverything } from './clients.ts';

// What a user of Redis has to be allowed, and no more.

const ALWAYS = 'evalsha eval mget getrange strlen set setrange append del pttl'.split(' ');
/** By whose time is counted: the server's, or that of a given clock. */
const COMMANDS = {
  server: [...ALWAYS, 'time', 'pexpireat'],
  given: [...ALWAYS, 'pexpire'],
};
type Whose = keyof typeof COMMANDS;
const WHOSE = Object.keys(COMMANDS) as Whose[];
const PASSWORD = 'secret';
/** As Redis 7, Redis 8 and Valkey 8 put it. */
const DENIED = /^Redis failed \(.*(NOPERM|can't run this command|no permissions)/i;

function rules(commands: readonly string[]): string[] {
  return ['on', `>${PASSWORD}`, '~floodgate:*', '-@all', ...commands.map((name) => `+${name}`)];
}

let server: RedisServer;
let admin: OpenClient;
const connections: OpenClient[] = [];

beforeAll(async () => {
  const users = WHOSE.map((whose, i) => `user user-${i} ${rules(COMMANDS[whose]).join(' ')}`);
  server = await startRedis({ users });
  admin = await ioredis6('').open(server);
  // Of ioredis, which would rather be allowed `info`.
  jest.spyOn(console, 'warn').mockImplementation(() => {});
});
afterAll(async () => {
  for (const { close } of [admin, ...connections]) close();
  await server.stop();
});

/** All operations, at first with scripts that the server does not know, as a user of whom the server knows. */
async function everything(username: string, whose: Whose, kind = ioredis6('')): Promise<void> {
  const connection = await kind.open(server, { username, password: PASSWORD });
  connections.push(connection);
  await server.command('SCRIPT', 'FLUSH');
  await useEverything(server, connection.client, admin.client, whose);
}

test.each(WHOSE)('the guide has the same commands: %s', (whose) => {
  const guide = readFileSync(resolve(__dirname, '../../../docs/redis.md'), 'utf8');
  const [, , ...rest] = rules(COMMANDS[whose]);
  expect(guide).toContain(`user floodgate on >password ${rest.join(' ')}\n`);
});

describe.each(WHOSE)('by a clock (%s)', (whose) => {
  const username = `user-${WHOSE.indexOf(whose)}`;

  test.each(LIBRARIES)('these commands suffice: $name', async (kind) => {
    await everything(username, whose, kind);
  });

  test.each(COMMANDS[whose])('%s is needed', async (name) => {
    const others = COMMANDS[whose].filter((other) => other !== name);
    await server.command('ACL', 'SETUSER', `without-${name}`, 'reset', ...rules(others));
    await expect(everything(`without-${name}`, whose)).rejects.toMatchObject({
      code: 'FLOODGATE_STORE_FAILED',
      message: expect.stringMatching(DENIED),
    });
  });

  test.each([ioredis6(''), nodeRedis6('')])('also after a restart: $name', async (kind) => {
    const connection = await kind.open(server, { username, password: PASSWORD });
    connections.push(connection);
    const ready = [connection, admin].map(
      ({ client }) => new Promise((resolve) => client.once('ready', resolve)),
    );
    await server.restart();
    await Promise.all(ready);
    await useEverything(server, connection.client, admin.client, whose);
  });

  test('other keys stay out of reach', async () => {
    const connection = await ioredis6('').open(server, { username, password: PASSWORD });
    connections.push(connection);
    const store = new RedisStore({ client: connection.client, prefix: 'other', timeout: '20s' });
    await expect(store.reset([{ policy: 'p', key: 'k' }])).rejects.toMatchObject({
      code: 'FLOODGATE_STORE_FAILED',
      message: expect.stringMatching(DENIED),
    });
  });
});
