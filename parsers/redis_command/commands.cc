#include "parsers/redis_command/commands.h"

#include <algorithm>
#include <iterator>

namespace tapline::redis {
namespace {

template <size_t size>
bool is_one_of(std::string_view name, const std::string_view (&names)[size]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// `words` is the number of words, including the name; -n means n or more. `answers` contains the types of the values in
// the command's replies, in RESP2 and RESP3, for the most frequent commands; if it is empty, any type is possible.
struct KnownCommand {
  std::string_view name;
  int words;
  std::string_view answers;
};

constexpr KnownCommand kKnown[] = {{"ACL", -2, ""},
                                   {"APPEND", 3, ":"},
                                   {"ASKING", 1, ""},
                                   {"AUTH", -2, "+"},
                                   {"BGREWRITEAOF", 1, ""},
                                   {"BGSAVE", -1, ""},
                                   {"BITCOUNT", -2, ":"},
                                   {"BITFIELD", -2, ""},
                                   {"BITFIELD_RO", -2, ""},
                                   {"BITOP", -4, ":"},
                                   {"BITPOS", -3, ":"},
                                   {"BLMOVE", 6, ""},
                                   {"BLMPOP", -5, ""},
                                   {"BLPOP", -3, "*_"},
                                   {"BRPOP", -3, "*_"},
                                   {"BRPOPLPUSH", 4, ""},
                                   {"BZMPOP", -5, ""},
                                   {"BZPOPMAX", -3, ""},
                                   {"BZPOPMIN", -3, ""},
                                   {"CLIENT", -2, ""},
                                   {"CLUSTER", -2, ""},
                                   {"COMMAND", -1, ""},
                                   {"CONFIG", -2, ""},
                                   {"COPY", -3, ""},
                                   {"DBSIZE", 1, ":"},
                                   {"DEBUG", -2, ""},
                                   {"DECR", 2, ":"},
                                   {"DECRBY", 3, ":"},
                                   {"DEL", -2, ":"},
                                   {"DISCARD", 1, "+"},
                                   {"DUMP", 2, "$_"},
                                   {"ECHO", 2, "$"},
                                   {"EVAL", -3, ""},
                                   {"EVALSHA", -3, ""},
                                   {"EVALSHA_RO", -3, ""},
                                   {"EVAL_RO", -3, ""},
                                   {"EXEC", 1, "*_"},
                                   {"EXISTS", -2, ":"},
                                   {"EXPIRE", -3, ":"},
                                   {"EXPIREAT", -3, ":"},
                                   {"EXPIRETIME", 2, ""},
                                   {"FAILOVER", -1, ""},
                                   {"FCALL", -3, ""},
                                   {"FCALL_RO", -3, ""},
                                   {"FLUSHALL", -1, "+"},
                                   {"FLUSHDB", -1, "+"},
                                   {"FUNCTION", -2, ""},
                                   {"GEOADD", -5, ":"},
                                   {"GEODIST", -4, ""},
                                   {"GEOHASH", -2, ""},
                                   {"GEOPOS", -2, ""},
                                   {"GEORADIUS", -6, ""},
                                   {"GEORADIUSBYMEMBER", -5, ""},
                                   {"GEORADIUSBYMEMBER_RO", -5, ""},
                                   {"GEORADIUS_RO", -6, ""},
                                   {"GEOSEARCH", -7, ""},
                                   {"GEOSEARCHSTORE", -8, ""},
                                   {"GET", 2, "$_"},
                                   {"GETBIT", 3, ":"},
                                   {"GETDEL", 2, "$_"},
                                   {"GETEX", -2, "$_"},
                                   {"GETRANGE", 4, "$"},
                                   {"GETSET", 3, "$_"},
                                   {"HDEL", -3, ":"},
                                   {"HELLO", -1, ""},
                                   {"HEXISTS", 3, ":"},
                                   {"HEXPIRE", -6, ""},
                                   {"HGET", 3, "$_"},
                                   {"HGETALL", 2, "*%"},
                                   {"HINCRBY", 4, ":"},
                                   {"HINCRBYFLOAT", 4, "$"},
                                   {"HKEYS", 2, "*~"},
                                   {"HLEN", 2, ":"},
                                   {"HMGET", -3, "*"},
                                   {"HMSET", -4, "+"},
                                   {"HPERSIST", -5, ""},
                                   {"HPEXPIRE", -6, ""},
                                   {"HPTTL", -5, ""},
                                   {"HRANDFIELD", -2, ""},
                                   {"HSCAN", -3, "*"},
                                   {"HSET", -4, ":"},
                                   {"HSETNX", 4, ":"},
                                   {"HSTRLEN", 3, ":"},
                                   {"HTTL", -5, ""},
                                   {"HVALS", 2, "*"},
                                   {"INCR", 2, ":"},
                                   {"INCRBY", 3, ":"},
                                   {"INCRBYFLOAT", 3, "$"},
                                   {"INFO", -1, "$="},
                                   {"KEYS", 2, "*~"},
                                   {"LASTSAVE", 1, ":"},
                                   {"LATENCY", -2, ""},
                                   {"LCS", -3, ""},
                                   {"LINDEX", 3, "$_"},
                                   {"LINSERT", 5, ":"},
                                   {"LLEN", 2, ":"},
                                   {"LMOVE", 5, ""},
                                   {"LMPOP", -4, ""},
                                   {"LOLWUT", -1, ""},
                                   {"LPOP", -2, "$*_"},
                                   {"LPOS", -3, ""},
                                   {"LPUSH", -3, ":"},
                                   {"LPUSHX", -3, ":"},
                                   {"LRANGE", 4, "*"},
                                   {"LREM", 4, ":"},
                                   {"LSET", 4, "+"},
                                   {"LTRIM", 4, "+"},
                                   {"MEMORY", -2, ""},
                                   {"MGET", -2, "*"},
                                   {"MIGRATE", -6, ""},
                                   {"MODULE", -2, ""},
                                   {"MONITOR", 1, ""},
                                   {"MOVE", 3, ""},
                                   {"MSET", -3, "+"},
                                   {"MSETNX", -3, ":"},
                                   {"MULTI", 1, "+"},
                                   {"OBJECT", -2, ""},
                                   {"PERSIST", 2, ":"},
                                   {"PEXPIRE", -3, ":"},
                                   {"PEXPIREAT", -3, ":"},
                                   {"PEXPIRETIME", 2, ""},
                                   {"PFADD", -2, ":"},
                                   {"PFCOUNT", -2, ":"},
                                   {"PFMERGE", -2, "+"},
                                   {"PING", -1, "+$*"},
                                   {"PSETEX", 4, "+"},
                                   {"PSUBSCRIBE", -2, ""},
                                   {"PSYNC", -3, ""},
                                   {"PTTL", 2, ":"},
                                   {"PUBLISH", 3, ":"},
                                   {"PUBSUB", -2, ""},
                                   {"PUNSUBSCRIBE", -1, ""},
                                   {"QUIT", -1, "+"},
                                   {"RANDOMKEY", 1, "$_"},
                                   {"READONLY", 1, ""},
                                   {"READWRITE", 1, ""},
                                   {"RENAME", 3, "+"},
                                   {"RENAMENX", 3, ":"},
                                   {"REPLCONF", -1, ""},
                                   {"REPLICAOF", 3, ""},
                                   {"RESET", 1, ""},
                                   {"RESTORE", -4, "+"},
                                   {"ROLE", 1, "*"},
                                   {"RPOP", -2, "$*_"},
                                   {"RPOPLPUSH", 3, "$_"},
                                   {"RPUSH", -3, ":"},
                                   {"RPUSHX", -3, ":"},
                                   {"SADD", -3, ":"},
                                   {"SAVE", 1, ""},
                                   {"SCAN", -2, "*"},
                                   {"SCARD", 2, ":"},
                                   {"SCRIPT", -2, ""},
                                   {"SDIFF", -2, "*~"},
                                   {"SDIFFSTORE", -3, ":"},
                                   {"SELECT", 2, "+"},
                                   {"SENTINEL", -2, ""},
                                   {"SET", -3, "+$_"},
                                   {"SETBIT", 4, ":"},
                                   {"SETEX", 4, "+"},
                                   {"SETNX", 3, ":"},
                                   {"SETRANGE", 4, ":"},
                                   {"SHUTDOWN", -1, ""},
                                   {"SINTER", -2, "*~"},
                                   {"SINTERCARD", -3, ""},
                                   {"SINTERSTORE", -3, ":"},
                                   {"SISMEMBER", 3, ":"},
                                   {"SLAVEOF", 3, ""},
                                   {"SLOWLOG", -2, ""},
                                   {"SMEMBERS", 2, "*~"},
                                   {"SMISMEMBER", -3, "*"},
                                   {"SMOVE", 4, ":"},
                                   {"SORT", -2, ""},
                                   {"SORT_RO", -2, ""},
                                   {"SPOP", -2, "$*~_"},
                                   {"SPUBLISH", 3, ""},
                                   {"SRANDMEMBER", -2, ""},
                                   {"SREM", -3, ":"},
                                   {"SSCAN", -3, "*"},
                                   {"SSUBSCRIBE", -2, ""},
                                   {"STRLEN", 2, ":"},
                                   {"SUBSCRIBE", -2, ""},
                                   {"SUBSTR", 4, ""},
                                   {"SUNION", -2, "*~"},
                                   {"SUNIONSTORE", -3, ":"},
                                   {"SUNSUBSCRIBE", -1, ""},
                                   {"SWAPDB", 3, ""},
                                   {"SYNC", 1, ""},
                                   {"TIME", 1, "*"},
                                   {"TOUCH", -2, ":"},
                                   {"TTL", 2, ":"},
                                   {"TYPE", 2, "+"},
                                   {"UNLINK", -2, ":"},
                                   {"UNSUBSCRIBE", -1, ""},
                                   {"UNWATCH", 1, "+"},
                                   {"WAIT", 3, ""},
                                   {"WAITAOF", 4, ""},
                                   {"WATCH", -2, "+"},
                                   {"XACK", -4, ":"},
                                   {"XADD", -5, "$_"},
                                   {"XAUTOCLAIM", -6, ""},
                                   {"XCLAIM", -6, ""},
                                   {"XDEL", -3, ":"},
                                   {"XGROUP", -2, ""},
                                   {"XINFO", -2, ""},
                                   {"XLEN", 2, ":"},
                                   {"XPENDING", -3, ""},
                                   {"XRANGE", -4, "*"},
                                   {"XREAD", -4, "*%_"},
                                   {"XREADGROUP", -7, "*%_"},
                                   {"XREVRANGE", -4, "*"},
                                   {"XSETID", -3, ""},
                                   {"XTRIM", -4, ":"},
                                   {"ZADD", -4, ""},
                                   {"ZCARD", 2, ":"},
                                   {"ZCOUNT", 4, ":"},
                                   {"ZDIFF", -3, ""},
                                   {"ZDIFFSTORE", -4, ""},
                                   {"ZINCRBY", 4, ""},
                                   {"ZINTER", -3, ""},
                                   {"ZINTERCARD", -3, ""},
                                   {"ZINTERSTORE", -4, ""},
                                   {"ZLEXCOUNT", 4, ":"},
                                   {"ZMPOP", -4, ""},
                                   {"ZMSCORE", -3, "*"},
                                   {"ZPOPMAX", -2, "*"},
                                   {"ZPOPMIN", -2, "*"},
                                   {"ZRANDMEMBER", -2, ""},
                                   {"ZRANGE", -4, "*"},
                                   {"ZRANGEBYLEX", -4, "*"},
                                   {"ZRANGEBYSCORE", -4, "*"},
                                   {"ZRANGESTORE", -5, ""},
                                   {"ZRANK", -3, ""},
                                   {"ZREM", -3, ":"},
                                   {"ZREMRANGEBYLEX", 4, ":"},
                                   {"ZREMRANGEBYRANK", 4, ":"},
                                   {"ZREMRANGEBYSCORE", 4, ":"},
                                   {"ZREVRANGE", -4, "*"},
                                   {"ZREVRANGEBYLEX", -4, "*"},
                                   {"ZREVRANGEBYSCORE", -4, "*"},
                                   {"ZREVRANK", -3, ""},
                                   {"ZSCAN", -3, "*"},
                                   {"ZSCORE", 3, "$,_"},
                                   {"ZUNION", -3, ""},
                                   {"ZUNIONSTORE", -4, ""}};
static_assert(std::is_sorted(std::begin(kKnown), std::end(kKnown),
                             [](const KnownCommand& a, const KnownCommand& b) { return a.name < b.name; }));

const KnownCommand* find(std::string_view name) {
  const auto* it =
      std::lower_bound(std::begin(kKnown), std::end(kKnown), name,
                       [](const KnownCommand& known, std::string_view wanted) { return known.name < wanted; });
  return it != std::end(kKnown) && it->name == name ? it : nullptr;
}

// Returns true for commands of modules that are part of Redis 8 or were part of Redis Stack.
bool is_of_module(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"BF.", "CF.", "CMS.", "FT.", "JSON.", "TDIGEST.", "TOPK.", "TS."};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix) && name != prefix; });
}

}  // namespace

bool is_common(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "APPEND",  "AUTH",      "CLIENT", "CLUSTER", "COMMAND", "CONFIG",   "DBSIZE",    "DECR",     "DECRBY", "DEL",
      "DISCARD", "ECHO",      "EXEC",   "EXISTS",  "EXPIRE",  "FLUSHALL", "FLUSHDB",   "GET",      "GETSET", "HDEL",
      "HELLO",   "HEXISTS",   "HGET",   "HGETALL", "HINCRBY", "HKEYS",    "HLEN",      "HMGET",    "HMSET",  "HSET",
      "HVALS",   "INCR",      "INCRBY", "INFO",    "KEYS",    "LLEN",     "LPOP",      "LPUSH",    "LRANGE", "MGET",
      "MONITOR", "MSET",      "MULTI",  "PING",    "PTTL",    "PUBLISH",  "QUIT",      "RPOP",     "RPUSH",  "SADD",
      "SCAN",    "SCARD",     "SELECT", "SET",     "SETEX",   "SETNX",    "SISMEMBER", "SMEMBERS", "SPOP",   "SREM",
      "STRLEN",  "SUBSCRIBE", "TTL",    "TYPE",    "UNLINK",  "UNWATCH",  "WATCH",     "XADD",     "XLEN",   "ZCARD",
      "ZPOPMAX", "ZPOPMIN",   "ZRANGE", "ZSCORE"};
  return is_one_of(name, kNames);
}

bool has_subcommands(std::string_view name) {
  constexpr std::string_view kNames[] = {"ACL",      "CLIENT",   "CLUSTER", "COMMAND", "CONFIG", "DEBUG",
                                         "FUNCTION", "LATENCY",  "MEMORY",  "MODULE",  "OBJECT", "PUBSUB",
                                         "SCRIPT",   "SENTINEL", "SLOWLOG", "XGROUP",  "XINFO"};
  return is_one_of(name, kNames);
}

bool has_key(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "AUTH",     "HELLO",      "PING",       "ECHO",     "SELECT",     "INFO",    "EVAL",   "EVALSHA",
      "EVAL_RO",  "EVALSHA_RO", "FCALL",      "BITOP",    "FCALL_RO",   "MIGRATE", "SWAPDB", "SCAN",
      "KEYS",     "SLAVEOF",    "REPLICAOF",  "REPLCONF", "PSYNC",      "SYNC",    "WAIT",   "WAITAOF",
      "SHUTDOWN", "FLUSHALL",   "FLUSHDB",    "XREAD",    "XREADGROUP", "LMPOP",   "BLMPOP", "ZMPOP",
      "BZMPOP",   "SINTERCARD", "ZUNION",     "ZINTER",   "ZDIFF",      "RESET",   "QUIT",   "FAILOVER",
      "LOLWUT",   "BGSAVE",     "ZINTERCARD", "UNWATCH",  "ASKING",     "READONLY"};
  constexpr std::string_view kOnSubcommand[] = {
      "MEMORY USAGE",  "OBJECT ENCODING", "OBJECT FREQ",    "OBJECT IDLETIME",       "OBJECT REFCOUNT",
      "XGROUP CREATE", "XGROUP DESTROY",  "XGROUP SETID",   "XGROUP CREATECONSUMER", "XGROUP DELCONSUMER",
      "XINFO STREAM",  "XINFO GROUPS",    "XINFO CONSUMERS"};
  if (name.find(' ') != std::string_view::npos) return is_one_of(name, kOnSubcommand);
  return !is_one_of(name, kNames);
}

bool is_subscription(std::string_view name) {
  constexpr std::string_view kNames[] = {"SUBSCRIBE",   "PSUBSCRIBE",   "SSUBSCRIBE",
                                         "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"};
  return is_one_of(name, kNames);
}

bool is_confirmation(std::string_view word) {
  constexpr std::string_view kWords[] = {"subscribe",   "psubscribe",   "ssubscribe",
                                         "unsubscribe", "punsubscribe", "sunsubscribe"};
  return is_one_of(word, kWords);
}

bool ends_responses(std::string_view name) { return name == "MONITOR" || name == "SYNC" || name == "PSYNC"; }

std::string_view answers_of(std::string_view name) {
  const KnownCommand* known = find(name);
  return known != nullptr ? known->answers : std::string_view();
}

bool is_command(std::string_view name, uint64_t words) {
  const KnownCommand* known = find(name);
  if (known == nullptr) return is_of_module(name);
  return known->words > 0 ? words == static_cast<uint64_t>(known->words)
                          : words >= static_cast<uint64_t>(-known->words);
}

}  // namespace tapline::redis
