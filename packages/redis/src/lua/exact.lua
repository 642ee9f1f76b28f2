-- Whole-number arithmetic on Lua's doubles. Products may leave what a double holds exactly: then they are never formed.

local MOST = 9007199254740991 -- 2^53 - 1

-- floor(a * b / d), of whole numbers below 2^53 with a <= d.
local function multiply_divide_floor(a, b, d)
  if a * b <= MOST then return math.floor(a * b / d) end
  -- Long multiplication, a bit of b at a time, keeping quotient and rest apart. The rest stays below d, so that twice of
  -- it is exact, and what is added to it is compared before it is added.
  local quotient, rest = 0, 0
  local bit = 4503599627370496 -- 2^52
  while bit >= 1 do
    quotient = quotient * 2
    if rest >= d - rest then
      rest = rest - (d - rest)
      quotient = quotient + 1
    else
      rest = rest + rest
    end
    if b >= bit then
      b = b - bit
      if rest >= d - a then
        rest = rest - (d - a)
        quotient = quotient + 1
      else
        rest = rest + a
      end
    end
    bit = bit / 2
  end
  return quotient
end

-- a + b, held at 2^53 - 1: a debt beyond that stays as large as a number can be.
local function add_up_to_safe(a, b)
  return math.min(a + b, MOST)
end

-- Writes whole numbers: `..` would round what has more than 14 digits. `%d` is twice as quick as `%.0f`, where the system's
-- integers are large enough.
local INTEGERS_ARE_LONG = string.format('%d', MOST) == '9007199254740991'
local function format(pattern, ...)
  if not INTEGERS_ARE_LONG then pattern = string.gsub(pattern, '%%(%d*)d', '%%%1.0f') end
  return string.format(pattern, ...)
end

local function text_of(number)
  return format('%d', number)
end

-- When the clock-aligned window that holds `at` began.
local function window_start(at, period)
  return math.floor(at / period) * period
end
