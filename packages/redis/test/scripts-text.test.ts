import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis } from '@floodgate/test-redis';
import { describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { useEverything } from './clients.ts';

const FOLDER = join(__dirname, '../src/lua');
const FILES = readdirSync(FOLDER).map((name): [name: string, text: string] => [
  name,
  readFileSync(join(FOLDER, name), 'utf8'),
]);
const ENTRY_POINTS = ['batch.lua', 'block.lua', 'reset.lua'];

/** What a script calls, with the options that it has in Redis 6.2. */
const COMMANDS = [
  'TIME',
  'DEL',
  'MGET',
  'GETRANGE',
  'STRLEN',
  'PTTL',
  'SET',
  'SETRANGE',
  'APPEND',
  'PEXPIRE',
  'PEXPIREAT',
];

describe.each(FILES)('%s', (name, text) => {
  const code = text.replace(/--.*$/gm, '');

  test('says what it is', () => {
    const head = text.slice(0, text.search(/^(?!--)/m));
    expect(head).toMatch(/^-- [A-Z]/);
    if (!ENTRY_POINTS.includes(name)) return;
    expect(head).toMatch(/^-- KEYS {2}the key of each subject/m);
    expect(head).toMatch(/^-- reply /m);
    expect(/^-- ARGV {2}/m.test(head)).toBe(code.includes('ARGV'));
  });

  test('touches no key but those that it is given', () => {
    // On a cluster, and for users who may touch some keys only, each has to be among KEYS.
    const calls = code.match(/\b(?:redis\.p?)?call\([^)]*\)/g) ?? [];
    for (const call of calls) {
      expect(call).toMatch(/call\(('TIME'|('[A-Z]+'|EXPIRE), (key|state\.key|unpack\(KEYS)[,)])/);
    }
  });

  test('calls only what is in Redis 6.2', () => {
    for (const [, command] of code.matchAll(/'([A-Z]{3,})'/g)) {
      expect([...COMMANDS, 'KEEPTTL', 'PX', 'PXAT', 'WRONGTYPE']).toContain(command);
    }
  });
});

test('keys, arguments and commands, as a server sees them', async () => {
  const server = await startRedis();
  const client = new Redis(server.port, server.host, { keyPrefix: 'app:' });
  const monitor = await client.monitor();
  const seen: [command: string, args: string[], byScript: boolean][] = [];
  monitor.on('monitor', (_time: string, [command = '', ...args]: string[], source: string) => {
    seen.push([command.toUpperCase(), args, source === 'lua']);
  });

  for (const time of ['server', 'given'] as const) {
    await useEverything(server, client, client, time);
  }
  const end = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, [command]: string[]) => {
      if (command === 'echo') resolve();
    });
  });
  await client.echo('end');
  await end;

  let declared: string[] = [];
  for (const [command, args, byScript] of seen) {
    if (!byScript && /^EVAL(SHA)?$/.test(command)) {
      const keyCount = Number(args[1]);
      declared = args.slice(2, 2 + keyCount);
      for (const key of declared) expect(key).toMatch(/^app:floodgate:\{/);
      for (const argument of args.slice(2 + keyCount)) {
        expect(argument).toMatch(/^(\d*|take|peek|force|refund|[frlctk])$/);
      }
    } else if (byScript && command !== 'TIME') {
      const keys = command === 'DEL' || command === 'MGET' ? args : args.slice(0, 1);
      expect(declared).toEqual(expect.arrayContaining(keys));
    }
  }
  const called = seen.filter(([, , byScript]) => byScript).map(([command]) => command);
  expect([...new Set(called)].sort()).toEqual([...COMMANDS].sort());

  monitor.disconnect();
  client.disconnect();
  await server.stop();
});
