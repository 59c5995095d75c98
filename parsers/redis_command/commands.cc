#include "parsers/redis_command/commands.h"

#include <algorithm>
#include <iterator>

namespace tapline::redis {
namespace {

template <size_t size>
bool is_one_of(std::string_view name, const std::string_view (&names)[size]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

struct Answers {
  std::string_view name;
  std::string_view types;
};

// Of the commands that are sent most. RESP2 and RESP3.
constexpr Answers kAnswers[] = {
    {"GET", "$_"},      {"SET", "+$_"},    {"SETEX", "+"},   {"SETNX", ":"},    {"GETSET", "$_"}, {"MGET", "*"},
    {"MSET", "+"},      {"INCR", ":"},     {"INCRBY", ":"},  {"DECR", ":"},     {"DECRBY", ":"},  {"DEL", ":"},
    {"UNLINK", ":"},    {"EXISTS", ":"},   {"EXPIRE", ":"},  {"TTL", ":"},      {"PTTL", ":"},    {"TYPE", "+"},
    {"APPEND", ":"},    {"STRLEN", ":"},   {"LPUSH", ":"},   {"RPUSH", ":"},    {"LLEN", ":"},    {"LRANGE", "*"},
    {"LPOP", "$*_"},    {"RPOP", "$*_"},   {"SADD", ":"},    {"SREM", ":"},     {"SCARD", ":"},   {"SISMEMBER", ":"},
    {"SMEMBERS", "*~"}, {"SPOP", "$*~_"},  {"HSET", ":"},    {"HGET", "$_"},    {"HMGET", "*"},   {"HMSET", "+"},
    {"HGETALL", "*%"},  {"HDEL", ":"},     {"HLEN", ":"},    {"HKEYS", "*~"},   {"HVALS", "*"},   {"HEXISTS", ":"},
    {"HINCRBY", ":"},   {"ZCARD", ":"},    {"ZRANGE", "*"},  {"ZSCORE", "$,_"}, {"ZPOPMIN", "*"}, {"ZPOPMAX", "*"},
    {"KEYS", "*~"},     {"SCAN", "*"},     {"PING", "+$*"},  {"ECHO", "$"},     {"SELECT", "+"},  {"MULTI", "+"},
    {"EXEC", "*_"},     {"DISCARD", "+"},  {"WATCH", "+"},   {"UNWATCH", "+"},  {"PUBLISH", ":"}, {"AUTH", "+"},
    {"DBSIZE", ":"},    {"FLUSHALL", "+"}, {"FLUSHDB", "+"}, {"XADD", "$_"},    {"XLEN", ":"},    {"INFO", "$="},
    {"QUIT", "+"},
};

}  // namespace

bool is_common(std::string_view name) {
  constexpr std::string_view kOthers[] = {"HELLO", "CONFIG", "CLIENT", "COMMAND", "SUBSCRIBE", "MONITOR", "CLUSTER"};
  return !answers_of(name).empty() || is_one_of(name, kOthers);
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

bool ends_answers(std::string_view name) { return name == "MONITOR" || name == "SYNC" || name == "PSYNC"; }

std::string_view answers_of(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kAnswers), std::end(kAnswers), [&](const Answers& each) { return each.name == name; });
  return found != std::end(kAnswers) ? found->types : std::string_view();
}

}  // namespace tapline::redis
