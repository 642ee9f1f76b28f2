import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type RedisServer, startRedis } from '../src/index.ts';
import { send } from '../src/resp.ts';

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a server', () => {
  let redis: RedisServer;

  beforeEach(async () => {
    redis = await startRedis();
  });

  afterEach(() => redis.stop());

  test('answers where it says that it is', async () => {
    const { host, port, url, version, pid } = redis;
    expect(url).toBe(`redis://${host}:${port}`);
    expect(await send({ host, port, commands: [['PING']] })).toBe('PONG');
    const info = String(await redis.command('INFO', 'server'));
    expect(info).toContain(`redis_version:${version}\r\n`);
    expect(info).toContain(`process_id:${pid}\r\n`);
  });

  test('answers with whatever RESP2 has', async () => {
    const script = "return {1, 'é\\r\\n', false, {}, {'a', {2}}, redis.status_reply('fine')}";
    const reply = [1, 'é\r\n', null, [], ['a', [2]], 'fine'];
    expect(await redis.command('EVAL', script, '0')).toEqual(reply);
    const long = 'é'.repeat(1_000_000);
    expect(await redis.command('ECHO', long)).toBe(long);
    await expect(redis.command('NONSENSE')).rejects.toThrow(/^ERR unknown command/);
  });

  test('restarts empty, on the same port', async () => {
    const { port, pid } = redis;
    await redis.command('SET', 'key', 'value');
    await redis.restart();
    expect(redis.port).toBe(port);
    expect(redis.pid).not.toBe(pid);
    expect(isRunning(pid)).toBe(false);
    expect(await redis.command('GET', 'key')).toBeNull();
  });

  test('is gone after a crash, until it is restarted', async () => {
    await redis.crash();
    expect(isRunning(redis.pid)).toBe(false);
    await expect(redis.command('PING')).rejects.toThrow('ECONNREFUSED');
    await redis.crash();
    await redis.restart();
    expect(await redis.command('PING')).toBe('PONG');
  });

  test('answers nothing while it is paused, and everything afterwards', async () => {
    redis.pause();
    let isAnswered = false;
    const reply = redis.command('PING').finally(() => {
      isAnswered = true;
    });
    // That something does not happen can only be seen by waiting.
    await setTimeout(200);
    expect(isAnswered).toBe(false);
    redis.resume();
    expect(await reply).toBe('PONG');
  });

  test('is stopped even where it is paused, and once only', async () => {
    redis.pause();
    await Promise.all([redis.stop(), redis.stop()]);
    await redis.stop();
    expect(isRunning(redis.pid)).toBe(false);
  });

  test('may end by itself', async () => {
    await expect(redis.command('SHUTDOWN', 'NOSAVE')).rejects.toThrow();
    await redis.crash();
    redis.pause();
    await redis.restart();
    expect(await redis.command('PING')).toBe('PONG');
  });

  test('leaves the port to whoever took it meanwhile', async () => {
    await redis.crash();
    const other = createServer();
    await once(other.listen(redis.port, redis.host), 'listening');
    await expect(redis.restart()).rejects.toThrow(`Port ${redis.port} was taken`);
    other.close();
  });
});

test('users may do what their lines say, and commands of the test still work', async () => {
  const users = ['user default off', 'user reader on >secret ~public:* -@all +get +ping'];
  const redis = await startRedis({ users });
  const { host, port } = redis;
  const asReader = (...command: string[]) =>
    send({ host, port, commands: [['AUTH', 'reader', 'secret'], command] });

  await redis.command('SET', 'public:key', 'value');
  expect(await asReader('GET', 'public:key')).toBe('value');
  await expect(asReader('GET', 'private:key')).rejects.toThrow('NOPERM');
  await expect(asReader('SET', 'public:key', '')).rejects.toThrow('NOPERM');
  await expect(send({ host, port, commands: [['PING']] })).rejects.toThrow('NOAUTH');
  await redis.stop();
});

test('arguments are added to the command line', async () => {
  const redis = await startRedis({ args: ['--maxmemory', '5mb', '--requirepass', 'secret'] });
  const { host, port } = redis;
  expect(await redis.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '5242880']);
  await expect(send({ host, port, commands: [['PING']] })).rejects.toThrow('NOAUTH');
  await redis.stop();
});

test('what the server says when it does not start is told', async () => {
  await expect(startRedis({ args: ['--nonsense', '1'] })).rejects.toThrow(/nonsense/);
});

describe('a server ends with the process that started it', () => {
  const program = (then: string) => [
    ...['--import', 'tsx', '--input-type=module', '--eval'],
    `import { startRedis } from '@floodgate/test-redis';
     const redis = await startRedis();
     ${then}
     console.log(redis.pid);`,
  ];
  const cwd = resolve(__dirname, '..');

  /** @param output what the program printed */
  async function endOf(output: string): Promise<void> {
    while (isRunning(Number(output))) await setTimeout(10);
  }

  test.each(['', 'redis.pause();'])('which is killed, having said %j', async (then) => {
    const stays = program(`${then} setInterval(() => {}, 1000);`);
    const parent = spawn(process.execPath, stays, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    const [output] = await once(parent.stdout, 'data');
    expect(isRunning(Number(output))).toBe(true);
    parent.kill('SIGKILL');
    await endOf(output);
  });

  test('which forgets it', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, program(''), { cwd });
    await endOf(stdout);
  });
});
