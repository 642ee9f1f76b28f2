import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { accessLog, runReplay } from './replay-command.ts';

// A process each, on however busy a machine.
jest.setTimeout(120_000);

const line = (client: string, second: number, request = 'GET / HTTP/1.1'): string =>
  `${client} - - [17/May/2015:10:05:${String(second).padStart(2, '0')} +0000] "${request}" 200 1 "-" "browser"\n`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'floodgate-replay-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text, 'latin1');
  return file;
}

describe('four days of real traffic', () => {
  test.each([
    ['fixed-window 5/10s', 622, 54, 0],
    ['sliding-window-log 5/10s', 757, 61, 0],
    ['sliding-window-counter 5/10s', 744, 58, 0],
    ['token-bucket 5 1/2s', 413, 35, 0],
    ['leaky-bucket 5 1/2s', 413, 35, 8_143_000],
  ])(
    '%s denies %d requests of %d clients',
    async (quota, deniedRequests, deniedClients, waitMs) => {
      const { code, stdout, stderr } = await runReplay([accessLog, '--quota', quota, '--json']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const { mostDenied, ...counts } = JSON.parse(stdout);
      const requests = 9999;
      const clients = 1753;
      expect(counts).toEqual({ requests, clients, deniedRequests, deniedClients, waitMs });
      expect(mostDenied).toHaveLength(10);
    },
  );

  test('comes by standard input as well, with - or without a name', async () => {
    const log = readFileSync(accessLog, 'latin1');
    const args = ['--quota', 'sliding-window-log 5/10s', '--json', '--top', '1'];
    const [withDash, without] = await Promise.all([
      runReplay(['-', ...args], log),
      runReplay(args, log),
    ]);
    expect(JSON.parse(without.stdout)).toMatchObject({ requests: 9999, deniedRequests: 757 });
    expect(withDash).toEqual(without);
  });
});

test('--json prints exactly one object, the most denied clients first', async () => {
  const requests = [0, 0, 0].map((second) => line('203.0.113.1', second));
  const others = [1, 1].map((second) => line('203.0.113.2', second));
  const log = [...requests, ...others, line('203.0.113.3', 2)].join('');
  const { code, stdout, stderr } = await runReplay(['--quota', '1/1m', '--json'], log);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    requests: 6,
    clients: 3,
    deniedRequests: 3,
    deniedClients: 2,
    waitMs: 0,
    mostDenied: [
      { client: '203.0.113.1', denied: 2, requests: 3 },
      { client: '203.0.113.2', denied: 1, requests: 2 },
    ],
  });
});

test('a table tells the same', async () => {
  const log = line('203.0.113.1', 0) + line('203.0.113.1', 0) + line('203.0.113.1', 1);
  const quota = ['--quota', 'leaky-bucket 2 1/1s'];
  const { stdout } = await runReplay(quota, `${log}${line('203.0.113.1', 1)}`);
  expect(stdout).toBe(
    [
      '┌───────────────────────────┬─────────────────────┐',
      '│ Quota                     │ leaky-bucket 2 1/1s │',
      '│ Requests                  │                   4 │',
      '│ Clients                   │                   1 │',
      '│ Denied requests           │          1 (25.0 %) │',
      '│ Denied clients            │         1 (100.0 %) │',
      '│ Wait of admitted requests │                 2 s │',
      '│ Bad lines                 │                   0 │',
      '└───────────────────────────┴─────────────────────┘',
      '┌─────────────────────┬────────┬──────────┐',
      '│ Most denied clients │ Denied │ Requests │',
      '├─────────────────────┼────────┼──────────┤',
      '│ 203.0.113.1         │      1 │        4 │',
      '└─────────────────────┴────────┴──────────┘',
      '',
    ].join('\n'),
  );
});

test('bad lines are counted and told, and the others replayed', async () => {
  const bad = ['nonsense\n', line('203.0.113.1', 0, '-'), line('example', 0), '{"json":true}\n'];
  const log = [line('203.0.113.1', 0), ...bad, '\n', ...bad, line('203.0.113.1', 0)].join('');
  const file = write('bad.log', log);
  const asJson = await runReplay([file, '--quota', '1/1m', '--json']);
  expect(asJson.stderr).toBe(
    '8 lines were left out, no requests in the combined log format: lines 2, 3, 4, 5, 7 and 3 more\n',
  );
  expect(JSON.parse(asJson.stdout)).toMatchObject({ requests: 2, deniedRequests: 1 });
  expect(asJson.code).toBe(0);
  const asTable = await runReplay([file, '--quota', '1/1m']);
  expect(asTable.stderr).toBe(asJson.stderr);
  expect(asTable.stdout).toMatch(/Bad lines +│ +8 │/);
});

test('an empty log has nothing in it', async () => {
  const { code, stdout, stderr } = await runReplay([
    write('empty.log', ''),
    '--quota',
    '5/10s',
    '--json',
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const none = { requests: 0, clients: 0, deniedRequests: 0, deniedClients: 0, waitMs: 0 };
  expect(JSON.parse(stdout)).toEqual({ ...none, mostDenied: [] });
});

test.each([
  ['a file that is not there', 'missing.log', 'no such file or directory'],
  ['a folder', '.', 'illegal operation on a directory'],
])('%s is an error that says so', async (_, name, reason) => {
  const file = join(folder, name);
  const result = await runReplay([file, '--quota', '5/10s']);
  expect(result).toEqual({ code: 1, stdout: '', stderr: `Cannot read ${file}: ${reason}\n` });
});

test('a wrong quota is an error of usage that says what is wrong with it', async () => {
  const { code, stdout, stderr } = await runReplay([accessLog, '--quota', 'token-bucket 5 0.5/1s']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^Expected `refillRate` to be .+\nTry: pnpm replay --help\n$/);
});

test('--help says how it is used', async () => {
  const { code, stdout } = await runReplay(['--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: pnpm replay \[FILE\] --quota QUOTA/);
});
