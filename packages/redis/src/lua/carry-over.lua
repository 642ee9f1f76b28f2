-- States that another quota made, or that are ahead of the clock: the twin of algorithms/carry-over.ts.

-- By which a state of each letter is brought to a time.
local METERS = {
  f = fixed_window,
  r = fixed_window,
  l = sliding_window_log,
  c = sliding_window_counter,
  t = bucket,
  k = bucket,
}

local function units_in_use(state, at)
  -- What came back to a bucket since is unknown without the rate.
  local in_use = METERS[state.letter](state, { period = state.period, rate = 0 }, at)
  -- A part of a unit counts as one: never more is admitted.
  return is_bucket(state.letter) and math.ceil(in_use / state.period) or in_use
end

-- Makes of a state one of `quota`: so many units, at most the limit, in one charge made at `at`.
local function replace(state, units, quota, at)
  units = math.min(units, quota.limit)
  state.letter = quota.letter
  state.period = quota.period
  state.at = at
  state.used = units * quota.unit
  state.earlier = 0
  -- A window from the first request begins with a charge: without units it is over.
  if quota.letter == 'r' then state.earlier = units > 0 and at or at - quota.period end
  state.entries = quota.letter == 'l' and units > 0 and entry_of(at, units) or ''
end

-- Gives a state the shape of a quota; answers whether it had another.
local function carry_over(state, quota)
  if state.letter == quota.letter and state.period == quota.period then return false end
  if state.letter == 'n' then
    state.letter = quota.letter
    state.period = quota.period
    return false
  end
  local at = math.max(now, state.at)
  replace(state, units_in_use(state, at), quota, at)
  return true
end

-- Where the clock stands more than one window behind a state (a bucket: its time to fill), the units count as one charge
-- made now; after two windows of that they count no more.
local function follow_clock_back(state, quota)
  local span = quota.period
  if is_bucket(quota.letter) then span = math.ceil(quota.limit * quota.period / quota.rate) end
  if state.at - now <= span then return end
  local since = state.behind == 0 and now or math.min(state.behind, now)
  local units = 0
  if now - since < 2 * span then units = units_in_use(state, state.at) end
  replace(state, units, quota, now)
  state.behind = since
end
