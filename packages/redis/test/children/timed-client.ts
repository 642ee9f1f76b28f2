import type { Clock } from '@floodgate/core';
import type { Redis } from 'ioredis';
import type { IoredisClient } from '../../src/index.ts';

/**
 * A client of a real server on which time is a given clock's: scripts are told its time, and what they say of expiries
 * goes by it. The server itself keeps all keys for ever, and when each of them expires, in a hash.
 */
export class TimedClient implements IoredisClient {
  readonly status = 'ready';
  /** Of each key that the last script had, the milliseconds left: -1 for ever, -2 it is not there. */
  left: readonly number[] = [];
  readonly #client: Redis;
  readonly #clock: Clock;
  readonly #earlyMs: number;

  /** @param earlyMs how long before their time keys are gone */
  constructor(client: Redis, clock: Clock, earlyMs: number) {
    this.#client = client;
    this.#clock = clock;
    this.#earlyMs = earlyMs;
  }

  evalsha(): Promise<unknown> {
    return Promise.reject(new Error('NOSCRIPT'));
  }

  async eval(source: string, keyCount: number, ...rest: string[]): Promise<unknown> {
    const time = [String(this.#clock.now()), String(this.#earlyMs)];
    const script = `${BEFORE}${source}${AFTER}`;
    const [reply, left] = (await this.#client.eval(script, keyCount, ...rest, ...time)) as [
      unknown,
      string[],
    ];
    this.left = left.map(Number);
    return reply;
  }
}

const BEFORE = `
local now, early = ARGV[#ARGV - 1] + 0, ARGV[#ARGV] + 0
ARGV[#ARGV] = nil
ARGV[#ARGV] = nil
local real = redis.call

local function left_of(key)
  if real('EXISTS', key) == 0 then return -2 end
  local at = real('HGET', 'expiries', key)
  return at and at - now or -1
end

local function expire(key, at)
  real('HSET', 'expiries', key, string.format('%.0f', at))
end

local function forget(...)
  for _, key in ipairs({ ... }) do real('HDEL', 'expiries', key) end
  return real('DEL', ...)
end

local timed = {
  TIME = function() return { string.format('%.0f', math.floor(now / 1000)), now % 1000 * 1000 } end,
  PTTL = left_of,
  PEXPIRE = function(key, ms) expire(key, now + ms) end,
  PEXPIREAT = function(key, at) expire(key, at) end,
  DEL = forget,
  SET = function(key, value, option, time)
    if option ~= 'KEEPTTL' then real('HDEL', 'expiries', key) end
    if option == 'PX' then expire(key, now + time) end
    if option == 'PXAT' then expire(key, time) end
    return real('SET', key, value)
  end,
}
local redis = { call = function(name, ...)
  if timed[name] then return timed[name](...) end
  return real(name, ...)
end, pcall = redis.pcall }

for _, key in ipairs(KEYS) do
  local at = real('HGET', 'expiries', key)
  if at and at - now <= early then forget(key) end
end

local function script()
`;

const AFTER = `
end

local reply = script()
local left = {}
for i, key in ipairs(KEYS) do left[i] = string.format('%.0f', left_of(key)) end
return { reply, left }
`;
