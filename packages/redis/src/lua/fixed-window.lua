-- Fixed windows: the twin of algorithms/fixed-window.ts.

-- Brings a state to a time, at which another window may have begun. Answers the units in use then, and when the window
-- ends. One from the first request begins with a charge.
local function fixed_window(state, quota, at)
  local start = state.earlier
  if state.letter == 'f' then start = window_start(state.at, quota.period) end
  if at >= start + quota.period or state.at == NEVER then
    state.used = 0
    start = state.letter == 'f' and window_start(at, quota.period) or at
  end
  state.start_if_charged = start
  return state.used, start + quota.period
end
