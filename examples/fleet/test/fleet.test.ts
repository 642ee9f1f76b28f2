import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { startServer } from '@floodgate/example-test-support';
import { startRedis } from '@floodgate/test-redis';
import { describe, expect, jest, test } from '@jest/globals';
import { NGINX } from '../src/nginx.ts';
import { demonstrate, type Ended, tablesOf } from './demonstration.ts';

// A dozen processes, on however busy a machine.
jest.setTimeout(240_000);

const example = resolve(__dirname, '..');
const hasNginx = spawnSync(NGINX, ['-v']).error === undefined;
/** Elsewhere the demonstration may have one client address only. */
const hasManyAddresses = process.platform === 'linux';

function expectCleanEnd({ code, stderr, left }: Ended): void {
  expect({ code, stderr, left }).toEqual({ code: 0, stderr: '', left: [] });
}

/** What one client was admitted. */
function expectFigures(stdout: string): void {
  const tables = tablesOf(stdout);
  expect(tables).toHaveLength(hasManyAddresses ? 4 : 3);

  expect(tables[0]).toEqual([
    ['process 1', 40, 30],
    ['process 2', 40, 30],
    ['process 3', 40, 30],
    ['together', 120, 90],
  ]);
  expect(stdout).toContain('Left, as the client is told: 29 29 29 28 28 28 27 27 27 …\n');

  const sticky = tables.at(-2) ?? [];
  expect(sticky).toContainEqual([expect.stringMatching(/^process \d \(lost\)$/), 60, 30]);
  expect(sticky).toContainEqual([expect.stringMatching(/^process \d$/), 60, 30]);
  expect(sticky).toContainEqual([expect.stringMatching(/^process \d$/), 0, 0]);
  expect(sticky.at(-1)).toEqual(['together', 120, 60]);
  expect(stdout).toContain('… 0 0 0, and after the loss 29 28 27 …\n');

  expectShared(stdout);
}

/** What it was admitted by all of them together. */
function expectShared(stdout: string): void {
  const shared = tablesOf(stdout).at(-1) ?? [];
  expect(shared.at(-1)).toEqual(['together', 120, 30]);
  // All three have answered.
  for (const [, requests] of shared) expect(requests).toBeGreaterThan(0);
  expect(stdout).toContain('… 12 11 10, and after the loss 9 8 7 …\n');
}

/** Twelve clients with 10 requests each, and one with 120. */
function expectOffice(stdout: string): void {
  const rows = tablesOf(stdout)[1] ?? [];
  expect(rows.at(-1)).toEqual(['together', 13, 240, 150]);
  const officeRows = rows.slice(0, -1).filter(([, , requests = 0]) => requests >= 120);
  expect(officeRows).toHaveLength(1);
  for (const [, clients = 0, requests, admitted] of rows.slice(0, -1)) {
    const hasOffice = requests === officeRows[0]?.[2];
    const others = hasOffice ? clients - 1 : clients;
    expect(requests).toBe(others * 10 + (hasOffice ? 120 : 0));
    expect(admitted).toBe(others * 10 + (hasOffice ? 30 : 0));
  }
}

/** What the README says that the demonstration prints. */
function shownInReadme(): string | undefined {
  const readme = readFileSync(resolve(example, 'README.md'), 'utf8');
  return /```console\n\$ BALANCER=proxy [^\n]*\n(.+?)\n```/s.exec(readme)?.[1];
}

const balancers = [
  ['a proxy (httpxy)', 'proxy', test],
  ['nginx', 'nginx', hasNginx ? test : test.skip],
] as const;

for (const [name, BALANCER, run] of balancers) {
  run(`behind ${name}: three limits, one or two, and exactly one`, async () => {
    const ended = await demonstrate({ env: { BALANCER } });
    expectCleanEnd(ended);
    expect(ended.stdout).toContain(`Three processes behind ${name}`);
    expectFigures(ended.stdout);
    if (hasManyAddresses) {
      expectOffice(ended.stdout);
      // What nginx hashes is the processes' ports, which are others each time.
      if (BALANCER === 'proxy') expect(ended.stdout.trimEnd()).toBe(shownInReadme());
    }
  });

  run(`behind ${name}: Ctrl-C leaves nothing behind`, async () => {
    const ended = await demonstrate({ env: { BALANCER }, interruptAt: /process is lost:\n/ });
    expect({ ...ended, stdout: '' }).toEqual({ code: 130, stdout: '', stderr: '', left: [] });
    expect(ended.stdout).not.toContain('after the loss');
  });
}

describe('Redis', () => {
  test('that is there is used, and nothing stays in it', async () => {
    const redis = await startRedis();
    try {
      const ended = await demonstrate({ env: { REDIS_URL: redis.url }, part: '3' });
      expectCleanEnd(ended);
      expectShared(ended.stdout);
      expect(await redis.command('DBSIZE')).toBe(0);
      expect(await redis.command('INFO', 'commandstats')).toContain('cmdstat_evalsha');
    } finally {
      await redis.stop();
    }
  });

  test('that cannot be had is missed in a sentence', async () => {
    const ended = await demonstrate({ env: { REDIS_SERVER: '/nowhere' }, part: '3' });
    expectCleanEnd(ended);
    expect(ended.stdout).toMatch(/\n {3}Left out: REDIS_SERVER=\/nowhere does not run .*\.\n$/);
    expect(tablesOf(ended.stdout)).toEqual([]);
  });
});

test('a balancer that there is not is refused in a sentence', async () => {
  const ended = await demonstrate({ env: { BALANCER: 'haproxy' } });
  const stderr = 'Expected BALANCER to be nginx or proxy, got haproxy\n';
  expect(ended).toEqual({ code: 1, stdout: '', stderr, left: [] });
});

test('a process believes its balancer, and nothing that a client wrote before it', async () => {
  const server = await startServer({
    cwd: example,
    program: 'src/server.ts',
    env: { REDIS_URL: '' },
  });
  const statuses: number[] = [];
  for (let i = 0; i < 31; i += 1) {
    const headers = { 'X-Forwarded-For': `198.51.100.${i}, 203.0.113.7` };
    statuses.push((await fetch(server.url, { headers })).status);
  }
  expect(statuses).toEqual([...Array<number>(30).fill(200), 429]);
  const another = await fetch(server.url, { headers: { 'X-Forwarded-For': '203.0.113.8' } });
  expect(another.headers.get('X-RateLimit-Remaining')).toBe('29');
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
});
