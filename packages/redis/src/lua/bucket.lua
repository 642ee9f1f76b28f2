-- Token and leaky buckets: the twin of algorithms/bucket.ts. A unit has as many parts as the interval has milliseconds,
-- and each millisecond gives `rate` parts back.

local function bucket(state, quota, at, cost, force)
  local before = 0
  if state.at ~= NEVER then before = math.max(0, state.used - quota.rate * (at - state.at)) end
  local free = quota.limit * quota.period - before
  local charge = cost * quota.period
  local never = cost > quota.limit or quota.limit == 0
  local allowed = force or (not never and (cost == 0 or charge <= free))
  local used = before
  if allowed and cost > 0 then
    used = add_up_to_safe(before, charge)
    state.at = at
    state.used = used
  end
  return allowed, at + math.ceil(used / quota.rate)
end
