-- Forgets counts and blocks.
--
-- KEYS  the key of each subject
-- reply how many of them were there

local call = redis.call
local count = 0
for i = 1, #KEYS do
  local key = KEYS[i]
  count = count + call('DEL', key)
end
return count
