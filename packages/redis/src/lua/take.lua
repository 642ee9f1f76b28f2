-- Meets all charges of one call: all or none.
--
-- KEYS  the key of each charge's subject
-- ARGV  1, 2 see clock.lua
--       3 take, peek or force
--       then seven of each charge: the quota's letter (see state.lua), limit or capacity in units, window or interval in
--       milliseconds, a bucket's rate in units an interval (else 0), for how many milliseconds a denial blocks (0: not),
--       the cost in units, 1 where the charge is advisory or else 0
-- reply the time, in milliseconds since 1970; then of each subject the state before, empty where there was none, with as
--       much of a log as the decision depends on. The caller computes the decisions from these

local mode = ARGV[3]
local force = mode == 'force'

local METERS = {
  f = fixed_window,
  r = fixed_window,
  l = sliding_window_log,
  c = sliding_window_counter,
  t = bucket,
  k = bucket,
}

-- Whether a charge is allowed, and until when the state that it leaves counts.
local function decide(state, quota, cost)
  if state.at > now then follow_clock_back(state, quota) end
  local at = math.max(now, state.at)
  if state.blocked > now and state.blocked > state.at and not force then
    -- What was carried over is kept, and may count for longer than the block.
    local _, counts_until = METERS[quota.letter](state, quota, at, 0, false)
    return false, counts_until
  end
  local allowed, counts_until = METERS[quota.letter](state, quota, at, cost, force)
  if not allowed and quota.block > 0 and cost > 0 and cost <= quota.limit then state.blocked = at + quota.block end
  return allowed, counts_until
end

local reply = { text_of(now) }
local charges = {}
local admitted = true
for i = 1, #KEYS do
  local key = KEYS[i]
  local at = 4 + (i - 1) * 7
  local quota = {
    letter = ARGV[at],
    limit = ARGV[at + 1] + 0,
    period = ARGV[at + 2] + 0,
    rate = ARGV[at + 3] + 0,
    block = ARGV[at + 4] + 0,
  }
  local cost = ARGV[at + 5] + 0
  local state, text = read_state(key)
  reply[i + 1] = text
  if state.letter == 'l' then reply[i + 1] = text .. digest_log(state, quota, math.max(now, state.at), cost) end
  local charge = { key = key, known = text ~= '', quota = quota, cost = cost, state = state }
  charge.blocked_before, charge.behind_before = state.blocked, state.behind
  charge.reshaped = carry_over(state, quota)
  charge.allowed, charge.counts_until = decide(state, quota, cost)
  if not charge.allowed and ARGV[at + 6] ~= '1' then admitted = false end
  charges[i] = charge
end
if mode == 'peek' then return reply end

for i = 1, #KEYS do
  local charge = charges[i]
  local key, state = charge.key, charge.state
  local counts_until = math.max(charge.counts_until, state.blocked)
  if charge.allowed and admitted and charge.cost > 0 then
    state.behind = 0
    write_state(key, state, counts_until)
  elseif not charge.allowed and charge.reshaped then
    -- What was carried over is kept even so: else the time told would never come.
    write_state(key, state, counts_until)
  elseif not charge.allowed and (state.blocked ~= charge.blocked_before or state.behind ~= charge.behind_before) then
    -- A denial leaves a state as it was, but for these.
    local kept = read_state(key)
    kept.blocked, kept.behind = state.blocked, state.behind
    write_head(key, kept)
    extend(key, counts_until)
  elseif charge.known then
    mend(key, counts_until)
  end
end
return reply
