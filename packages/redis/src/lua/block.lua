-- Blocks subjects for some time from now, whatever blocks there were; what was counted stays.
--
-- KEYS  the key of each subject
-- ARGV  1, 2 see clock.lua
--       3 for how many milliseconds; 0 lifts blocks
-- reply the time, in milliseconds since 1970

local duration = ARGV[3] + 0
for i = 1, #KEYS do
  local key = KEYS[i]
  local state = read_state(key)
  if duration == 0 and state.letter == 'n' then
    call('DEL', key)
  else
    state.blocked = duration > 0 and now + duration or 0
    write_head(key, state)
    local counts_until = state.blocked
    -- Found without an expiry: what was counted may do so for longer than the block.
    if call('PTTL', key) < 0 then counts_until = math.max(counts_until, now + 2 * state.period) end
    extend(key, counts_until)
  end
end
return text_of(now)
