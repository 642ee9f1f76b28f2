-- What is remembered of one subject, as text: the format's version (1) with the letter of the algorithm, then whole
-- numbers, each after a semicolon:
--
--   letter   of the quota that made the state: f (fixed window by the clock), r (fixed window from the first request),
--            l (sliding window log), c (sliding window counter), t (token bucket), k (leaky bucket); n: there is only
--            a block
--   period   the quota's window, or a bucket's interval, in milliseconds
--   at       when the last charge was admitted, in milliseconds since 1970
--   used     what was in use then: units, or a bucket's parts (a unit is as many as the interval has milliseconds)
--   earlier  c: the units of the window before; r: when the window began; l: how many of the oldest entries have left
--   blocked  when the block ends, in milliseconds since 1970; 0: there is none
--   behind   when the clock was first seen more than a window behind `at`; 0: it is not
--
-- A log's numbers have 16 digits and a semicolon after the last, so that they can be written over in place. Its entries
-- follow, oldest first: 16 digits of time and 16 of cost.

local NEVER = -math.huge

-- As long as the longest of all states is without entries.
local HEAD = 105
local ENTRY = 32

local function is_bucket(letter)
  return letter == 't' or letter == 'k'
end

-- A state, and its text without a log's entries: empty where the key is not there.
local function read_state(key)
  local text = call('GETRANGE', key, 0, HEAD - 1)
  local letter, period, at, used, earlier, blocked, behind =
    string.match(text, '^1(%a);(%d+);(%d+);(%d+);(-?%d+);(%d+);(%d+)')
  if not letter then
    local version = string.match(text, '^(%d+)%a;')
    if version and version + 0 > 1 then error('a later version of Floodgate wrote this state') end
    -- Something else, or nothing, is there: to us the subject was never seen.
    return { letter = 'n', period = 0, at = NEVER, used = 0, earlier = 0, blocked = 0, behind = 0, entries = '' }, text
  end
  return {
    letter = letter,
    period = period + 0,
    at = letter == 'n' and NEVER or at + 0,
    used = used + 0,
    earlier = earlier + 0,
    blocked = blocked + 0,
    behind = behind + 0,
    -- A log's are read as they are needed.
    entries = letter ~= 'l' and '' or nil,
    key = key,
  }, text
end

local function head_of(state)
  local is_log = state.letter == 'l'
  return string.format(
    is_log and '1%s;%016.0f;%016.0f;%016.0f;%016.0f;%016.0f;%016.0f;' or '1%s;%.0f;%.0f;%.0f;%.0f;%.0f;%.0f',
    state.letter,
    state.period,
    state.letter == 'n' and 0 or state.at,
    state.used,
    state.earlier,
    state.blocked,
    state.behind
  )
end

-- Keeps a state, all of it, and when it expires.
local function write_state(key, state, until_ms)
  if state.letter ~= 'l' then
    call('SET', key, head_of(state), EXPIRES, expiry(until_ms))
    return
  end
  local added = state.added or ''
  local entries = state.entries
  if not entries and state.earlier >= 32 and state.earlier * 2 >= (call('STRLEN', key) - HEAD) / ENTRY then
    -- Half of it has left: only now is it copied, so that an entry costs no more the longer the log is.
    entries = call('GETRANGE', key, HEAD + state.earlier * ENTRY, -1)
    state.earlier = 0
  end
  if entries then
    call('SET', key, head_of(state) .. entries .. added, EXPIRES, expiry(until_ms))
  else
    call('SETRANGE', key, 0, head_of(state))
    call('APPEND', key, added)
    call(EXPIRE, key, expiry(until_ms))
  end
end

-- Keeps a state of which no entry changed; it expires when it did.
local function write_head(key, state)
  if state.letter == 'l' then
    call('SETRANGE', key, 0, head_of(state))
  else
    call('SET', key, head_of(state), 'KEEPTTL')
  end
end

-- For how long a state counts at most, from now, by whatever quota: a bucket gives back a part a millisecond or more.
local function longest_of(state)
  local span = is_bucket(state.letter) and math.ceil(state.used) or 2 * state.period
  return math.max(span, state.blocked - now)
end
