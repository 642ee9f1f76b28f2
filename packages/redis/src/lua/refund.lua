-- Gives units back to the places that they were taken from: the twin of algorithms/refund.ts.

-- The entries of a log with up to `units` of the charges made at `at` taken out, and how many units those were.
local function without(entries, at, units)
  local stop = #entries
  while stop > 0 and (tonumber(string.sub(entries, stop - 31, stop - 16)) or at) > at do stop = stop - ENTRY end
  local start = stop
  while start > 0 and tonumber(string.sub(entries, start - 31, start - 16)) == at do start = start - ENTRY end
  local kept, left = {}, units
  for i = start, stop - 1, ENTRY do
    local cost = (tonumber(string.sub(entries, i + 17, i + ENTRY)) or 0)
    local taken = math.min(left, cost)
    left = left - taken
    if taken < cost then table.insert(kept, entry_of(at, cost - taken)) end
  end
  return string.sub(entries, 1, start) .. table.concat(kept) .. string.sub(entries, stop + 1), units - left
end

local function refund_log(key, state, cost, at)
  local entries, units = without(call('GETRANGE', key, HEAD + state.earlier * ENTRY, -1), at, cost)
  state.entries, state.earlier = entries, 0
  if state.used == MOST then
    -- A sum held at 2^53 - 1 may have been more: then what is left is added up.
    state.used = 0
    for _, left in entries_after(state, 0) do state.used = add_up_to_safe(state.used, left) end
  else
    state.used = state.used - units
  end
  call('SET', key, head_of(state) .. entries, 'KEEPTTL')
  texts[key] = nil
end

-- Gives back to one subject. Adds to the reply an empty text.
local function refund(key, cost, at, reply)
  local state, _, is_there = read_state(key)
  if not state then
    table.insert(reply, LATER_VERSION)
    return
  end
  local letter, period = state.letter, state.period
  if letter == 'f' or letter == 'r' then
    local start = letter == 'f' and window_start(state.at, period) or state.earlier
    if at >= start and at < start + period then state.used = math.max(0, state.used - cost) end
  elseif letter == 'c' then
    local start, charged = window_start(state.at, period), window_start(at, period)
    if charged == start then state.used = math.max(0, state.used - cost) end
    if charged == start - period then state.earlier = math.max(0, state.earlier - cost) end
  elseif is_bucket(letter) then
    state.used = math.max(0, state.used - cost * period)
  end
  if letter == 'l' then
    refund_log(key, state, cost, at)
  elseif letter ~= 'n' then
    write_head(key, state)
  end
  if is_there then mend(key, now + longest_of(state)) end
  table.insert(reply, '')
end
