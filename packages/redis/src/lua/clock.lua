-- The time, and when keys expire.
--
-- ARGV  1 the time in milliseconds since 1970; empty: the server's
--       2 where a time is given: for how many milliseconds a key is kept beyond the time that it counts, since the
--         server, by whose clock it expires, may be ahead

local call = redis.call

local now = ARGV[1]
-- By the server's own clock an expiry is a time, and not a span: the script's time is a moment later than the one that
-- the server counts spans from, and a key would be gone that moment too early.
local EXPIRES, EXPIRE, expires_from = 'PXAT', 'PEXPIREAT', 0
if now == '' then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = now + 0
  EXPIRES, EXPIRE, expires_from = 'PX', 'PEXPIRE', ARGV[2] - now
end

-- What EXPIRES and EXPIRE take, for a key that counts until a time.
local function expiry(until_ms)
  return text_of(math.max(1, until_ms + expires_from))
end

-- Sees to it that a key is kept at least until a time, and not for ever.
local function extend(key, until_ms)
  local needed = until_ms + expires_from
  if EXPIRES == 'PXAT' then needed = needed - now end
  if call('PTTL', key) <= needed then call(EXPIRE, key, expiry(until_ms)) end
end

-- Gives a key that has no expiry one. Others are let be: who is denied writes nothing.
local function mend(key, until_ms)
  if call('PTTL', key) < 0 then call(EXPIRE, key, expiry(until_ms)) end
end
