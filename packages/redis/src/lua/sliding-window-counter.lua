-- The sliding window counter: the twin of algorithms/sliding-window-counter.ts.

-- The units of the window before the one that began at `start`.
local function previous_units(state, last_start, start, period)
  if last_start == start then return state.earlier end
  return last_start == start - period and state.used or 0
end

-- What counts at `at`: the units of the window before that still do, those of the current one, and all of those before.
local function units_in_windows(state, period, at)
  local start = window_start(at, period)
  local last_start = state.at == NEVER and NEVER or window_start(state.at, period)
  local previous = previous_units(state, last_start, start, period)
  local current = last_start == start and state.used or 0
  return multiply_divide_floor(start + period - at, previous, period), current, previous
end

local function sliding_window_counter(state, quota, at, cost, force)
  local carried, current, previous = units_in_windows(state, quota.period, at)
  local allowed = force
    or (cost == 0 and quota.limit > 0)
    or (cost > 0 and carried + current + cost <= quota.limit)
  if allowed and cost > 0 then
    state.at = at
    state.used = add_up_to_safe(current, cost)
    state.earlier = previous
  end
  return allowed, window_start(at, quota.period) + 2 * quota.period
end
