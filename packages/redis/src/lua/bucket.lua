-- Token and leaky buckets: the twin of algorithms/bucket.ts. A unit has as many parts as the interval has milliseconds,
-- and each millisecond gives `rate` parts back.

-- Brings a state to a time. Answers the parts in use then.
local function bucket(state, quota, at)
  state.used = math.max(0, state.used - quota.rate * (at - state.at))
  return state.used
end
