-- Blocks subjects for some time from now, whatever blocks there were; what was counted stays.
--
-- KEYS  the key of each subject
-- ARGV  1, 2 see clock.lua
--       3 for how many milliseconds; 0 lifts blocks
-- reply the time, in milliseconds since 1970

local duration = ARGV[3] + 0
for i = 1, #KEYS do
  local key = KEYS[i]
  local state, text = read_state(key)
  if not state then return redis.error_reply('ERR a later version of Floodgate wrote this state') end
  if duration > 0 then
    state.blocked = now + duration
    -- The head keeps the expiry that there was; of a key without one, all that counted is kept.
    local lasts = call('PTTL', key) < 0 and longest_of(state) or duration
    write_head(key, state)
    extend(key, now + lasts)
  elseif state.letter ~= 'n' then
    state.blocked = 0
    write_head(key, state)
    mend(key, now + longest_of(state))
  elseif string.sub(text, 1, 2) == '1n' then
    call('DEL', key)
  end
end
return text_of(now)
