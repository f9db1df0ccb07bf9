-- Makes a conversation or adds to one, at once or not at all. It is one hash:
--   owner, created_at, metadata | next: items that were ever added | "i:" and an item's id: its place (4 bytes), entry
--
-- KEYS  the conversation
-- ARGV  1 owner   2 time to live in seconds   3 created_at of a new conversation, '' to add to one that there is
--       4 metadata of a new one   5 an item's id, 6 its entry, and so on in pairs
--
-- Returns 1; 0 when there is no such conversation; the id of an item when another entry has it.

local key = KEYS[1]

-- pcall, and its error returned as it stands: 6.2 would wrap READONLY, by which clients know that the master has moved
if ARGV[3] ~= '' and redis.call('EXISTS', key) == 0 then
  local made = redis.pcall('HSET', key, 'owner', ARGV[1], 'created_at', ARGV[3], 'metadata', ARGV[4], 'next', 0)
  if type(made) == 'table' then
    return made
  end
end
if redis.call('HGET', key, 'owner') ~= ARGV[1] then
  return 0
end

local fresh = {}
for at = 5, #ARGV, 2 do
  local present = redis.call('HGET', key, 'i:' .. ARGV[at])
  if not present then
    fresh[#fresh + 1] = at
  elseif string.sub(present, 5) ~= ARGV[at + 1] then
    return ARGV[at]
  end
end

local renewed = redis.pcall('EXPIRE', key, ARGV[2])
if type(renewed) == 'table' then
  return renewed
end
for _, at in ipairs(fresh) do
  local place = redis.call('HINCRBY', key, 'next', 1)
  redis.call('HSET', key, 'i:' .. ARGV[at], struct.pack('>I4', place) .. ARGV[at + 1])
end
return 1
