-- The sliding window counter: the twin of algorithms/sliding-window-counter.ts.

-- Brings a state to a time, at which other windows may be the current one and the one before. Answers the units in use
-- then, of which those of the window before count by what is left of it, and until when they count.
local function sliding_window_counter(state, quota, at)
  local period = quota.period
  local start = window_start(at, period)
  local last = window_start(state.at, period)
  if last ~= start then
    state.earlier = last == start - period and state.used or 0
    state.used = 0
  end
  return multiply_divide_floor(start + period - at, state.earlier, period) + state.used, start + 2 * period
end
