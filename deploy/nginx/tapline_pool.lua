-- Selects nginx's upstream server for a page, from the pool that `tapline replicate` keeps in Redis. Debian:
-- libnginx-mod-http-lua.
--
--   init_worker_by_lua_block { require("tapline_pool").follow{redis = {"10.30.0.1", 6379}, pool = "videos", first = {"10.30.0.11", 80}} }
--   (or redis = {"unix:/run/redis/redis.sock"})
--   upstream web { server 0.0.0.1; balancer_by_lua_block { require("tapline_pool").balance() } }
--
-- Requests for pages of the pool go to the servers that have them, round robin; all others go to the first server, and
-- so do retries if a copy fails. Every worker reads Redis five times per second. While Redis does not answer, the last
-- known pool is used.
local balancer = require "ngx.balancer"

local EVERY_S = 0.2
local TIMEOUT_MS = 1000

local tapline_pool = {}
local options
local places = {} -- URL -> list of {host, port}
local turn = 0
local answers = true

local function read_line(socket, kind)
  local line, problem = socket:receive("*l")
  if not line then
    return nil, problem
  end
  if line:sub(1, 1) ~= kind then
    return nil, "unexpected response: " .. line
  end
  return tonumber(line:sub(2))
end

local function read_text(socket)
  local length, problem = read_line(socket, "$")
  if not length then
    return nil, problem
  end
  local text
  text, problem = socket:receive(length)
  if text then
    socket:receive(2)
  end
  return text, problem
end

local function servers_of(text)
  local servers = {}
  for host, port in text:gmatch("([^ :]+):(%d+)") do
    servers[#servers + 1] = {host, tonumber(port)}
  end
  return servers
end

-- Sends HGETALL in Redis's protocol (RESP 2). The response is a list of strings, alternating URLs and servers.
local function ask(socket, key)
  local _, problem = socket:send("*2\r\n$7\r\nHGETALL\r\n$" .. #key .. "\r\n" .. key .. "\r\n")
  if problem then
    return nil, problem
  end
  local count
  count, problem = read_line(socket, "*")
  if not count then
    return nil, problem
  end
  local found = {}
  for _ = 1, count / 2 do
    local url, servers
    url, problem = read_text(socket)
    if url then
      servers, problem = read_text(socket)
    end
    if not servers then
      return nil, problem
    end
    found[url] = servers_of(servers)
  end
  return found
end

local function read()
  local socket = ngx.socket.tcp()
  socket:settimeout(TIMEOUT_MS)
  local connected, problem = socket:connect(unpack(options.redis))
  if not connected then
    return nil, problem
  end
  local found
  found, problem = ask(socket, "tapline:pool:" .. options.pool)
  if found then
    socket:setkeepalive()
  else
    socket:close()
  end
  return found, problem
end

local function refresh(premature)
  if premature then
    return
  end
  local found, problem = read()
  if found then
    places = found
  end
  if answers ~= (found ~= nil) then
    answers = found ~= nil
    ngx.log(ngx.WARN, "Redis ", answers and "answers again" or "does not answer: " .. problem)
  end
  ngx.timer.at(EVERY_S, refresh)
end

-- Starts to follow a pool. Call it in init_worker_by_lua.
function tapline_pool.follow(wanted)
  options = wanted
  ngx.timer.at(0, refresh)
end

-- Selects the server for the current try of the request. Call it in balancer_by_lua.
function tapline_pool.balance()
  local server = options.first
  local found = places[ngx.var.request_uri]
  if found and #found > 0 and not ngx.ctx.tapline_tried then
    ngx.ctx.tapline_tried = true
    balancer.set_more_tries(1)
    turn = turn + 1
    server = found[turn % #found + 1]
  end
  local taken, problem = balancer.set_current_peer(server[1], server[2])
  if not taken then
    ngx.log(ngx.ERR, "can't ask ", server[1], ": ", problem)
    return ngx.exit(500)
  end
end

return tapline_pool
