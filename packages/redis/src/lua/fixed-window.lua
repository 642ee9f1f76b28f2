-- Fixed windows: the twin of algorithms/fixed-window.ts.

-- Whether the window of the last admitted charge still runs at `at`.
local function window_runs(state, at)
  if state.at == NEVER then return false end
  local start = state.letter == 'f' and window_start(state.at, state.period) or state.earlier
  return at < start + state.period
end

-- Whether the units of the current window stay within the limit; and until when the state then counts.
local function fixed_window(state, quota, at, cost, force)
  local running = window_runs(state, at)
  local start
  if quota.letter == 'f' then
    start = window_start(at, quota.period)
  else
    start = running and state.earlier or at
  end
  local used = running and state.used or 0
  local allowed = force or (cost == 0 and quota.limit > 0) or (cost > 0 and used + cost <= quota.limit)
  if allowed and cost > 0 then
    state.at = at
    state.used = add_up_to_safe(used, cost)
    if quota.letter == 'r' then state.earlier = start end
  end
  return allowed, start + quota.period
end
