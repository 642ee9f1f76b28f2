-- Meets equal groups of charges, one after the other: of each group all charges, or none.

-- As they are met, by number.
local quotas = {}

-- Finds out of how many of `count` equal charges there is room, `charge.fits`, and until when what is counted then
-- counts: of a bucket, that follows from what is kept.
local function meet(charge, count, force)
  local state, quota, cost = charge.state, charge.quota, charge.cost
  if state.at > now then follow_clock_back(state, quota) end
  local at = math.max(now, state.at)
  local in_use, counts_until = METERS[quota.letter](state, quota, at)
  charge.at, charge.counts_until = at, counts_until
  charge.was_blocked = state.blocked > now and state.blocked > state.at
  if force then
    charge.fits = count
  elseif charge.was_blocked or cost > quota.limit or quota.limit == 0 then
    charge.fits = 0
  elseif cost == 0 then
    charge.fits = count
  else
    local room = math.floor((quota.limit * quota.unit - in_use) / (cost * quota.unit))
    charge.fits = math.max(0, math.min(count, room))
  end
end

-- Keeps what becomes of a subject of which `taken` charges were admitted, and, if so, one was denied.
local function keep(charge, taken, denied)
  local key, state, quota, cost = charge.key, charge.state, charge.quota, charge.cost
  local is_charged = taken > 0 and cost > 0
  if is_charged then
    local units = cost * taken
    state.at = charge.at
    state.used = add_up_to_safe(state.used, units * quota.unit)
    state.behind = 0
    if quota.letter == 'r' then state.earlier = state.start_if_charged end
    if quota.letter == 'l' then state.added = entry_of(charge.at, units) end
  end
  if denied and quota.block > 0 and cost > 0 and cost <= quota.limit and not charge.was_blocked then
    state.blocked = charge.at + quota.block
  end
  local counts_until = charge.counts_until or charge.at + math.ceil(state.used / quota.rate)
  counts_until = math.max(counts_until, state.blocked)
  -- What was carried over is kept by a denial as well: else the time told would never come.
  if is_charged or (denied and charge.reshaped) then
    write_state(key, state, counts_until)
  elseif denied and (state.blocked ~= charge.blocked_before or state.behind ~= charge.behind_before) then
    -- A denial leaves a state as it was, but for these.
    local kept = read_state(key)
    kept.blocked, kept.behind = state.blocked, state.behind
    write_head(key, kept)
    extend(key, counts_until)
  elseif charge.is_there then
    mend(key, counts_until)
  end
end

-- Meets `count` equal groups, of `size` charges each. Adds to the reply what was known of each subject before. By `deny`,
-- another subject has denied them: what is denied here as well is, and nothing is charged.
local function take(mode, count, size, argument, reply)
  local charges = {}
  local admitted = mode == 'deny' and 0 or count
  for i = 1, size do
    local key = KEYS[ARGV[argument] + 0]
    local quota = quotas[ARGV[argument + 1] + 0]
    local state, text, is_there = read_state(key)
    if not state then
      for _ = 1, size do table.insert(reply, LATER_VERSION) end
      return
    end
    local charge = { key = key, state = state, text = text, is_there = is_there, quota = quota }
    charge.cost = ARGV[argument + 2] + 0
    charge.blocked_before, charge.behind_before = state.blocked, state.behind
    charge.reshaped = carry_over(state, quota)
    meet(charge, count, mode == 'force')
    if charge.fits < admitted and not quota.advisory then admitted = charge.fits end
    charges[i] = charge
    argument = argument + 3
  end
  for i = 1, size do
    local charge = charges[i]
    local text, quota = charge.text, charge.quota
    local taken = math.min(charge.fits, admitted)
    -- Of the groups that are denied, or of this charge alone where it only watches.
    local denied = charge.fits < count and charge.fits == taken
    if string.sub(text, 1, 2) == '1l' then
      local state = charge.state
      -- Of a group that is admitted, nobody asks when there will be more room.
      local room = MOST
      if denied then room = quota.limit - charge.cost * (taken + 1) end
      if not denied and admitted < count then room = quota.limit end
      text = text .. digest_log(charge.key, state.left_at_first or 0, state.units_at_first or 0, room)
    end
    table.insert(reply, text)
    if mode ~= 'peek' then keep(charge, taken, denied) end
  end
end
