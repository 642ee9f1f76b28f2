-- Takes and refunds that were waiting at the same time, one after the other, as if each had come by itself.
--
-- KEYS  the key of each subject, once; first those whose states are short, and are read all at once
-- ARGV  1, 2 see clock.lua
--       3 how many of the keys are to be read at once
--       4 how many quotas there are; then six of each: its letter (see state.lua), limit or capacity in units, window or
--         interval in milliseconds, a bucket's rate in units an interval (else 0), for how many milliseconds a denial
--         blocks (0: not), 1 where its charges are advisory or else 0
--       then of each step: `take`, `deny`, `peek`, `force` or `refund`; how many equal ones there are; of how many subjects; and
--       three numbers of each subject: which key is its; of a refund, the units and when they were taken, in milliseconds
--       since 1970; else which quota is met, and the cost in units
-- reply the time, in milliseconds since 1970; then of each subject of each take the state before, empty where there was
--       none, with as much of a log as the decisions depend on; the caller computes the decisions from these. Of each
--       subject of a refund an empty text. Of all subjects of a step that met a state of a later version: `later`

local quota_count = ARGV[4] + 0
for i = 1, quota_count do
  local argument = 6 * i - 1
  local letter, period = ARGV[argument], ARGV[argument + 2] + 0
  quotas[i] = {
    letter = letter,
    limit = ARGV[argument + 1] + 0,
    period = period,
    rate = ARGV[argument + 3] + 0,
    block = ARGV[argument + 4] + 0,
    advisory = ARGV[argument + 5] == '1',
    unit = is_bucket(letter) and period or 1,
  }
end

read_at_once(ARGV[3] + 0)

local reply = { text_of(now) }
local argument = 5 + 6 * quota_count
while ARGV[argument] do
  local operation, count, size = ARGV[argument], ARGV[argument + 1] + 0, ARGV[argument + 2] + 0
  argument = argument + 3
  if operation == 'refund' then
    for i = argument, argument + 3 * size - 1, 3 do
      refund(KEYS[ARGV[i] + 0], ARGV[i + 1] + 0, ARGV[i + 2] + 0, reply)
    end
  else
    take(operation, count, size, argument, reply)
  end
  argument = argument + 3 * size
end
return reply
