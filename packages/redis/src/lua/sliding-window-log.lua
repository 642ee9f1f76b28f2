-- The sliding window log: the twin of algorithms/sliding-window-log.ts.

local READ_AT_ONCE = 16

local function entry_of(at, cost)
  return format('%016d%016d', at, cost)
end

-- Time and cost of each entry but the oldest `skipped`, oldest first: of those at hand, or of those at `key`.
local function entries_after(state, skipped)
  local text, position = '', 1
  return function()
    if position > #text then
      local first = skipped * ENTRY
      local last = first + READ_AT_ONCE * ENTRY
      if state.entries then
        text = string.sub(state.entries, first + 1, last)
      else
        text = call('GETRANGE', state.key, HEAD + first, HEAD + last - 1)
      end
      position = 1
      if text == '' then return nil end
      skipped = skipped + READ_AT_ONCE
    end
    local time = tonumber(string.sub(text, position, position + 15))
    local cost = tonumber(string.sub(text, position + 16, position + 31))
    -- Where somebody has cut it off, it ends.
    if not time or not cost then return nil end
    position = position + ENTRY
    return time, cost
  end
end

-- Brings a state to a time: the oldest entries may have left by then. Answers the units admitted in (at - period, at],
-- and until when they count.
local function sliding_window_log(state, quota, at)
  local left = state.earlier
  local units = state.used
  for time, cost in entries_after(state, left) do
    if time > at - quota.period then break end
    left = left + 1
    units = units - cost
  end
  if state.used == MOST then
    -- Debts may come to more: a sum held there does not say what is left when one of them leaves.
    units = 0
    for _, cost in entries_after(state, left) do units = add_up_to_safe(units, cost) end
  end
  state.used = units
  state.earlier = left
  -- Of the log as it was read, before another takes its place.
  state.left_at_first = state.left_at_first or left
  state.units_at_first = state.units_at_first or units
  return units, at + quota.period
end

-- The entry with which enough have left for `room` units to be all there are, the units of those after it, and the oldest
-- entry's time and cost.
local function last_to_leave(log, left, units, room)
  local first, first_cost, last
  if units < MOST then
    for time, cost in entries_after(log, left) do
      if units <= room then break end
      if not first then first, first_cost = time, cost end
      units = units - cost
      last = time
    end
    return last, units, first, first_cost
  end
  -- From the newest on, without a sum.
  local times, costs = {}, {}
  for time, cost in entries_after(log, left) do
    table.insert(times, time)
    table.insert(costs, cost)
  end
  local kept = 0
  local i = #costs
  while i > 0 and kept + costs[i] <= room do
    kept = kept + costs[i]
    i = i - 1
  end
  return times[i], kept, times[1], costs[1]
end

-- Entries that tell as much as these units up to `last` do, of which the first are apart: until they leave, none has.
local function digest_until(last, units, first, first_cost)
  if first == last then return entry_of(last, units) end
  return entry_of(first, first_cost) .. entry_of(last, units < MOST and units - first_cost or MOST)
end

-- The log at a key as far as it tells what a charge gets, in up to three entries: of which there are `units` but for the
-- oldest `left`, and of which enough have to leave for `room` units to be all there are.
local function digest_log(key, left, units, room)
  if units == 0 then return '' end
  local log = { key = key }
  local newest = tonumber(string.sub(call('GETRANGE', key, -ENTRY, -1), 1, 16))
  if not newest then return '' end
  if room == MOST then return entry_of(newest, units) end
  if room < 0 or units <= room then
    local first, first_cost = entries_after(log, left)()
    if not first then return entry_of(newest, units) end
    return digest_until(newest, units, first, first_cost)
  end
  local last, kept, first, first_cost = last_to_leave(log, left, units, room)
  if not last then return entry_of(newest, units) end
  local digest = digest_until(last, units < MOST and units - kept or MOST, first, first_cost)
  return kept == 0 and digest or digest .. entry_of(newest, kept)
end
