-- Forgets counts and blocks.
--
-- KEYS  the key of each subject
-- reply how many of them were there

return redis.call('DEL', unpack(KEYS))
