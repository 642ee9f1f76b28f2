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
-- The last numbers are left out where they are 0. A log's numbers are all there, have 16 digits and a semicolon after the
-- last, so that they can be written over in place. Its entries follow, oldest first: 16 digits of time and 16 of cost.

local NEVER = -math.huge

-- As long as the head of a log is, and longer than any other state.
local HEAD = 105
local ENTRY = 32

local function is_bucket(letter)
  return letter == 't' or letter == 'k'
end

-- The texts of states that are known by now, by key: those that were asked for together, and those that were written.
local texts = {}

-- Asks for the first so many keys together, which is twice as quick as one by one.
local function read_at_once(count)
  for first = 1, count, 1000 do
    local last = math.min(count, first + 999)
    local values = call('MGET', unpack(KEYS, first, last))
    for i = first, last do texts[KEYS[i]] = values[i - first + 1] or '' end
  end
end

-- In a reply, in the place of a state of a later version.
local LATER_VERSION = 'later'

-- Whether these may be the numbers of a state: somebody may have written others.
local function is_plausible(letter, period, at, used)
  return (period > 0 or letter == 'n') and period <= MOST and at <= MOST and used <= MOST
end

-- A state, its text without a log's entries, which is empty where there is none, and whether anything is there. Answers
-- nothing where a later version wrote it, which is to be let be.
local function read_state(key)
  local text = texts[key]
  if not text then
    text = redis.pcall('GETRANGE', key, 0, HEAD - 1)
    if type(text) == 'table' then
      if not string.find(text.err, 'WRONGTYPE', 1, true) then error(text) end
      text = 'something else'
    end
  end
  local letter, period, at, used, earlier, blocked, behind =
    string.match(text, '^1([frlctkn]);(%d+);(%d+);(%d+);?(%-?%d*);?(%d*);?(%d*)')
  if not letter or not is_plausible(letter, period + 0, at + 0, used + 0) then
    local version = string.match(text, '^(%d+)%a;')
    if version and version + 0 > 1 then return nil end
    -- Something else, or nothing, is there: to us the subject was never seen.
    return { letter = 'n', period = 0, at = NEVER, used = 0, earlier = 0, blocked = 0, behind = 0, entries = '' }, '', text ~= ''
  end
  return {
    letter = letter,
    period = period + 0,
    at = letter == 'n' and NEVER or at + 0,
    used = used + 0,
    earlier = earlier == '' and 0 or earlier + 0,
    blocked = blocked == '' and 0 or blocked + 0,
    behind = behind == '' and 0 or behind + 0,
    -- A log's are read as they are needed.
    entries = letter ~= 'l' and '' or nil,
    key = key,
  }, letter == 'l' and string.sub(text, 1, HEAD) or text, true
end

local function head_of(state)
  local at = state.letter == 'n' and 0 or state.at
  if state.letter == 'l' then
    local numbers = '1l;%016d;%016d;%016d;%016d;%016d;%016d;'
    return format(numbers, state.period, at, state.used, state.earlier, state.blocked, state.behind)
  end
  if state.blocked == 0 and state.behind == 0 then
    if state.earlier == 0 then return format('1%s;%d;%d;%d', state.letter, state.period, at, state.used) end
    return format('1%s;%d;%d;%d;%d', state.letter, state.period, at, state.used, state.earlier)
  end
  local numbers = '1%s;%d;%d;%d;%d;%d;%d'
  return format(numbers, state.letter, state.period, at, state.used, state.earlier, state.blocked, state.behind)
end

-- Keeps a state, all of it, and when it expires.
local function write_state(key, state, until_ms)
  local head = head_of(state)
  if state.letter ~= 'l' then
    call('SET', key, head, EXPIRES, expiry(until_ms))
    texts[key] = head
    return
  end
  texts[key] = nil
  local added = state.added or ''
  local entries = state.entries
  if not entries and state.earlier >= 32 and state.earlier * 2 >= (call('STRLEN', key) - HEAD) / ENTRY then
    -- Half of it has left: only now is it copied, so that an entry costs no more the longer the log is.
    entries = call('GETRANGE', key, HEAD + state.earlier * ENTRY, -1)
    state.earlier = 0
    head = head_of(state)
  end
  if entries then
    call('SET', key, head .. entries .. added, EXPIRES, expiry(until_ms))
  else
    call('SETRANGE', key, 0, head)
    call('APPEND', key, added)
    call(EXPIRE, key, expiry(until_ms))
  end
end

-- Keeps a state of which no entry changed; it expires when it did.
local function write_head(key, state)
  local head = head_of(state)
  if state.letter == 'l' then
    call('SETRANGE', key, 0, head)
    texts[key] = nil
  else
    call('SET', key, head, 'KEEPTTL')
    texts[key] = head
  end
end

-- For how long a state counts at most, from now, by whatever quota: a bucket gives back a part a millisecond or more.
local function longest_of(state)
  local span = is_bucket(state.letter) and math.ceil(state.used) or 2 * state.period
  return math.max(span, state.blocked - now)
end
