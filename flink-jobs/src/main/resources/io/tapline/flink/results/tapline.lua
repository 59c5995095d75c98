#!lua name=tapline

-- Writes of the stream job. Each is atomic, and has no effect if Redis already has it or a later one.
-- Keys, types and fields: schema/redis.md.

-- Advances the guard in `key` to `position`, unless it is there or beyond. Returns true if it advanced.
-- Positions have the same number of digits, so their text order is the order of the numbers.
local function advance(key, position)
  local last = redis.call('GET', key)
  if last and last >= position then
    return false
  end
  redis.call('SET', key, position)
  return true
end

-- KEYS last, ranking, groups, windows
-- ARGS position, windows kept, channel, processor, name, start, end, completeness, then key text, score and row of each row;
-- the score is empty if a group has no value
local function window(keys, args)
  if not advance(keys[1], args[1]) then
    return 0
  end
  redis.call('DEL', keys[2], keys[3])
  local rows = {}
  for i = 9, #args, 3 do
    if args[i + 1] ~= '' then
      redis.call('ZADD', keys[2], args[i + 1], args[i])
    end
    redis.call('HSET', keys[3], args[i], args[i + 2])
    rows[#rows + 1] = args[i + 2]
  end
  redis.call('XADD', keys[4], 'MAXLEN', '=', args[2], '*',
    'processor', args[4], 'name', args[5], 'window_start_ns', args[6], 'window_end_ns', args[7],
    'rows', '[' .. table.concat(rows, ',') .. ']', 'completeness', args[8])
  redis.call('PUBLISH', args[3],
    '{"type":"window","processor":' .. args[4] .. ',"window_end_ns":' .. args[7] .. '}')
  return 1
end

-- KEYS last, active alerts, windows
-- ARGS position, windows kept, channel of windows, channel of alerts, processor, name, start, end, completeness,
-- then key text, "raised" or "cleared", and row of each alert
local function alerts(keys, args)
  if not advance(keys[1], args[1]) then
    return 0
  end
  local rows = {}
  for i = 10, #args, 3 do
    if args[i + 1] == 'raised' then
      redis.call('HSET', keys[2], args[i], args[i + 2])
    else
      redis.call('HDEL', keys[2], args[i])
    end
    redis.call('PUBLISH', args[4], args[i + 2])
    rows[#rows + 1] = args[i + 2]
  end
  redis.call('XADD', keys[3], 'MAXLEN', '=', args[2], '*',
    'processor', args[5], 'name', args[6], 'window_start_ns', args[7], 'window_end_ns', args[8],
    'rows', '[' .. table.concat(rows, ',') .. ']', 'completeness', args[9])
  redis.call('PUBLISH', args[3],
    '{"type":"alerts","processor":' .. args[5] .. ',"window_end_ns":' .. args[8] .. '}')
  return 1
end

-- KEYS totals
-- ARGS position, then field and value of each total
local function totals(keys, args)
  local last = redis.call('HGET', keys[1], 'position')
  if last and last > args[1] then
    return 0
  end
  redis.call('HSET', keys[1], 'position', unpack(args))
  return 1
end

redis.register_function('tapline_window', window)
redis.register_function('tapline_alerts', alerts)
redis.register_function('tapline_totals', totals)
