-- Stores one response at once or not at all.
--
-- A value is a head of 14 bytes, the ancestors, 16 bytes each, oldest first, and the record:
--   renewed_at (4, Unix seconds) | number of ancestors (2) | mark of the save that wrote it (8) | ancestors | record
--
-- KEYS  the response | its parent | the links of the chain: a hash, child id -> parent id
-- ARGV  1 SHA-1 of the value that may be replaced, '' when there must be none
--       2 mark of this save   3 the parent's 16 bytes, '' when it has none or lives elsewhere   4 record
--       5 now   6 time to live   7 age of renewed_at at which the chain is due   (all in seconds)
--       8 ancestors to name at most   9 id of the response   10 id of its parent, '' for the first turn
--
-- Returns false on a conflict; the ancestors when their time to live is to be renewed; else ''.

local HEAD = 14

local current = redis.call('GET', KEYS[1])
if current and string.sub(current, 7, HEAD) == ARGV[2] then
  return ''  -- the same save, sent again because its answer was lost
end
if (current and redis.sha1hex(current) or '') ~= ARGV[1] then
  return false
end

local now = tonumber(ARGV[5])
local renewed, ancestors = now, ''
if ARGV[3] ~= '' then
  local head = redis.call('GETRANGE', KEYS[2], 0, HEAD - 1)
  if #head == HEAD then
    local count
    renewed, count = struct.unpack('>I4I2', head)
    if count > 0 then
      ancestors = redis.call('GETRANGE', KEYS[2], HEAD, HEAD + 16 * count - 1)
    end
  end
  ancestors = string.sub(ancestors .. ARGV[3], -16 * tonumber(ARGV[8]))
end

local due = now - renewed > tonumber(ARGV[7])
if due then
  renewed = now
end

local head = struct.pack('>I4I2', renewed, #ancestors / 16) .. ARGV[2]
-- pcall, and its error returned as it stands: 6.2 would wrap READONLY, by which clients know that the master has moved
local stored = redis.pcall('SET', KEYS[1], head .. ancestors .. ARGV[4], 'EX', ARGV[6])
if stored.err then
  return stored
end
if ARGV[10] ~= '' then
  redis.call('HSET', KEYS[3], ARGV[9], ARGV[10])
  redis.call('EXPIRE', KEYS[3], ARGV[6])
end
return due and ancestors or ''
