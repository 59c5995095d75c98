#include "parsers/memcached_get/grammar.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "parsers/api/bytes.h"

namespace tapline::memcached {
namespace {

constexpr size_t kMaxKeyBytes = 250;
constexpr size_t kMaxTokens = 8;
constexpr uint64_t kMaxValueBytes = uint64_t{1} << 31;

template <typename... Answers>
constexpr uint32_t any_of(Answers... responses) {
  return (bit(responses) | ... | 0u);
}

constexpr uint32_t kRetrieved = any_of(Answer::kValue, Answer::kEnd);
constexpr uint32_t kStoredOrNot = any_of(Answer::kStored, Answer::kNotStored, Answer::kExists, Answer::kNotFound);
constexpr uint32_t kDone = any_of(Answer::kOk, Answer::kReset, Answer::kBusy, Answer::kEnd);
constexpr uint32_t kMetaResponses = any_of(Answer::kMetaValue, Answer::kMetaDone, Answer::kMetaMiss,
                                           Answer::kMetaNotFound, Answer::kMetaNotStored, Answer::kMetaExists);

constexpr Command kCommands[] = {
    {"get", Group::kRead, Form::kKeys, kRetrieved},
    {"gets", Group::kRead, Form::kKeys, kRetrieved},
    {"gat", Group::kRead, Form::kTimeKeys, kRetrieved},
    {"gats", Group::kRead, Form::kTimeKeys, kRetrieved},
    {"set", Group::kWrite, Form::kStore, kStoredOrNot},
    {"add", Group::kWrite, Form::kStore, kStoredOrNot},
    {"replace", Group::kWrite, Form::kStore, kStoredOrNot},
    {"append", Group::kWrite, Form::kStore, kStoredOrNot},
    {"prepend", Group::kWrite, Form::kStore, kStoredOrNot},
    {"cas", Group::kWrite, Form::kStore, kStoredOrNot},
    {"delete", Group::kRemove, Form::kKey, any_of(Answer::kDeleted, Answer::kNotFound)},
    {"incr", Group::kArithmetic, Form::kKey, any_of(Answer::kNumber, Answer::kNotFound)},
    {"decr", Group::kArithmetic, Form::kKey, any_of(Answer::kNumber, Answer::kNotFound)},
    {"touch", Group::kTouch, Form::kKey, any_of(Answer::kTouched, Answer::kNotFound)},
    {"mg", Group::kRead, Form::kMeta, kMetaResponses},
    {"md", Group::kRemove, Form::kMeta, kMetaResponses},
    {"ma", Group::kArithmetic, Form::kMeta, kMetaResponses},
    {"ms", Group::kWrite, Form::kMetaStore, kMetaResponses},
    {"me", Group::kOther, Form::kMeta, any_of(Answer::kMetaDebug, Answer::kMetaMiss)},
    {"mn", Group::kOther, Form::kPlain, any_of(Answer::kMetaNoOp)},
    {"stats", Group::kOther, Form::kPlain, kDone | any_of(Answer::kStat, Answer::kItem)},
    {"version", Group::kOther, Form::kPlain, any_of(Answer::kVersion)},
    {"flush_all", Group::kOther, Form::kPlain, kDone},
    {"verbosity", Group::kOther, Form::kPlain, kDone},
    {"cache_memlimit", Group::kOther, Form::kPlain, kDone},
    {"slabs", Group::kOther, Form::kPlain, kDone},
    {"lru", Group::kOther, Form::kPlain, kDone},
    {"lru_crawler", Group::kOther, Form::kPlain, kDone},
    {"quit", Group::kOther, Form::kPlain, 0},
};

struct ResponseWord {
  std::string_view word;
  Answer answer;
};
constexpr ResponseWord kAnswers[] = {
    {"VALUE", Answer::kValue},
    {"END", Answer::kEnd},
    {"STORED", Answer::kStored},
    {"NOT_STORED", Answer::kNotStored},
    {"EXISTS", Answer::kExists},
    {"NOT_FOUND", Answer::kNotFound},
    {"DELETED", Answer::kDeleted},
    {"TOUCHED", Answer::kTouched},
    {"OK", Answer::kOk},
    {"VERSION", Answer::kVersion},
    {"STAT", Answer::kStat},
    {"ITEM", Answer::kItem},
    {"RESET", Answer::kReset},
    {"VA", Answer::kMetaValue},
    {"HD", Answer::kMetaDone},
    {"EN", Answer::kMetaMiss},
    {"NF", Answer::kMetaNotFound},
    {"NS", Answer::kMetaNotStored},
    {"EX", Answer::kMetaExists},
    {"MN", Answer::kMetaNoOp},
    {"ME", Answer::kMetaDebug},
    {"ERROR", Answer::kError},
    {"CLIENT_ERROR", Answer::kClientError},
    {"SERVER_ERROR", Answer::kServerError},
    {"BUSY", Answer::kBusy},
};

constexpr auto kPlain = Form::kPlain;
constexpr BinaryCommand kBinaryCommands[] = {
    {{"get", Group::kRead, kPlain, 0}, false, 0},         {{"set", Group::kWrite, kPlain, 0}, false, 8},
    {{"add", Group::kWrite, kPlain, 0}, false, 8},        {{"replace", Group::kWrite, kPlain, 0}, false, 8},
    {{"delete", Group::kRemove, kPlain, 0}, false, 0},    {{"incr", Group::kArithmetic, kPlain, 0}, false, 20},
    {{"decr", Group::kArithmetic, kPlain, 0}, false, 20}, {{"quit", Group::kOther, kPlain, 0}, false, 0},
    {{"flush", Group::kOther, kPlain, 0}, false, 4},      {{"getq", Group::kRead, kPlain, 0}, true, 0},
    {{"noop", Group::kOther, kPlain, 0}, false, 0},       {{"version", Group::kOther, kPlain, 0}, false, 0},
    {{"getk", Group::kRead, kPlain, 0}, false, 0},        {{"getkq", Group::kRead, kPlain, 0}, true, 0},
    {{"append", Group::kWrite, kPlain, 0}, false, 0},     {{"prepend", Group::kWrite, kPlain, 0}, false, 0},
    {{"stat", Group::kOther, kPlain, 0}, false, 0},       {{"setq", Group::kWrite, kPlain, 0}, true, 8},
    {{"addq", Group::kWrite, kPlain, 0}, true, 8},        {{"replaceq", Group::kWrite, kPlain, 0}, true, 8},
    {{"deleteq", Group::kRemove, kPlain, 0}, true, 0},    {{"incrq", Group::kArithmetic, kPlain, 0}, true, 20},
    {{"decrq", Group::kArithmetic, kPlain, 0}, true, 20}, {{"quitq", Group::kOther, kPlain, 0}, true, 0},
    {{"flushq", Group::kOther, kPlain, 0}, true, 4},      {{"appendq", Group::kWrite, kPlain, 0}, true, 0},
    {{"prependq", Group::kWrite, kPlain, 0}, true, 0},    {{"verbosity", Group::kOther, kPlain, 0}, false, 4},
    {{"touch", Group::kTouch, kPlain, 0}, false, 4},      {{"gat", Group::kRead, kPlain, 0}, false, 4},
    {{"gatq", Group::kRead, kPlain, 0}, true, 4},         {{"", Group::kOther, kPlain, 0}, false, 0},
    {{"sasl_list", Group::kOther, kPlain, 0}, false, 0},  {{"sasl_auth", Group::kOther, kPlain, 0}, false, 0},
    {{"sasl_step", Group::kOther, kPlain, 0}, false, 0},  {{"gatk", Group::kRead, kPlain, 0}, false, 4},
    {{"gatkq", Group::kRead, kPlain, 0}, true, 4},
};

// A line without its end, split into words: the first ones, and the rest of the line.
struct Words {
  std::string_view word[kMaxTokens];
  size_t count = 0;          // number of words; only the first kMaxTokens are kept
  std::string_view rest[2];  // the line without the first word, and without the first two
};

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Words split(std::string_view line, size_t max_tokens = kMaxTokens) {
  Words words;
  size_t position = 0;
  while (words.count < max_tokens) {
    position = line.find_first_not_of(' ', position);
    if (position == std::string_view::npos) break;
    if (words.count == 1 || words.count == 2) words.rest[words.count - 1] = line.substr(position);
    const size_t end = std::min(line.find(' ', position), line.size());
    words.word[words.count++] = line.substr(position, end - position);
    position = end;
  }
  return words;
}

bool parse_number(std::string_view text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  uint64_t number;
  return parse_number(text, &number);
}

// Returns true for a valid key. The protocol forbids control characters, but servers store keys that contain them.
bool is_key(std::string_view key) {
  if (key.empty() || key.size() > kMaxKeyBytes) return false;
  return std::none_of(key.begin(), key.end(), [](char c) { return c == ' ' || c == '\0' || c == '\r' || c == '\n'; });
}

bool are_keys(std::string_view keys) {
  bool all = true, any = false;
  for_each_key(keys, [&](std::string_view key) {
    any = true;
    all &= is_key(key);
  });
  return any && all;
}

const Command* command_named(std::string_view name) {
  const auto* it = std::find_if(std::begin(kCommands), std::end(kCommands),
                                [&](const Command& command) { return command.name == name; });
  return it != std::end(kCommands) ? it : nullptr;
}

bool parse_keys(const Words& words, TextRequest* request) {
  const bool timed = request->command->form == Form::kTimeKeys;
  if (timed && !is_number(words.word[1])) return false;
  request->keys = words.rest[timed ? 1 : 0];
  return are_keys(request->keys);
}

// Parses <key> <flags> <seconds> <bytes> [<cas>] [noreply].
bool parse_store(const Words& words, TextRequest* request) {
  const size_t fixed = request->command->name == "cas" ? 6 : 5;
  if (words.count < fixed || words.count > fixed + 1) return false;
  if (!is_key(words.word[1]) || !is_number(words.word[2]) || !is_number(words.word[3])) return false;
  if (!parse_number(words.word[4], &request->value_bytes) || request->value_bytes > kMaxValueBytes) return false;
  if (fixed == 6 && !is_number(words.word[5])) return false;
  request->has_value = true;
  request->keys = words.word[1];
  request->never_answered = words.count > fixed;
  return words.count == fixed || words.word[fixed] == "noreply";
}

bool parse_key(const Words& words, TextRequest* request) {
  if (words.count < 2 || words.count > 4 || !is_key(words.word[1])) return false;
  request->keys = words.word[1];
  request->never_answered = words.word[words.count - 1] == "noreply" && words.count > 2;
  const size_t numbers = words.count - request->never_answered;
  const bool needs_one = request->command->group != Group::kRemove;
  if (numbers > 3 || (needs_one && numbers != 3)) return false;
  return numbers < 3 || is_number(words.word[2]);
}

bool parse_meta(std::string_view line, const Words& words, TextRequest* request) {
  const bool stores = request->command->form == Form::kMetaStore;
  if (words.count < (stores ? 3u : 2u) || !is_key(words.word[1])) return false;
  if (stores && (!parse_number(words.word[2], &request->value_bytes) || request->value_bytes > kMaxValueBytes)) {
    return false;
  }
  request->has_value = stores;
  request->keys = words.word[1];
  size_t number = 0;
  for_each_key(line, [&](std::string_view flag) {
    if (number++ < (stores ? 3u : 2u)) return;
    request->quiet |= flag == "q";
    if (flag.starts_with('O')) request->opaque = flag.substr(1);
  });
  return true;
}

bool parse_arguments(std::string_view line, const Words& words, TextRequest* request) {
  switch (request->command->form) {
    case Form::kKeys:
    case Form::kTimeKeys:
      return parse_keys(words, request);
    case Form::kStore:
      return parse_store(words, request);
    case Form::kKey:
      return parse_key(words, request);
    case Form::kMeta:
    case Form::kMetaStore:
      return parse_meta(line, words, request);
    case Form::kPlain:
      request->never_answered = request->command->answers == 0 || words.word[words.count - 1] == "noreply";
      return std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  }
  return false;
}

// Parses VALUE <key> <flags> <bytes> [<cas>].
bool parse_value(const Words& words, TextResponse* answer) {
  if (words.count < 4 || words.count > 5 || !is_key(words.word[1]) || !is_number(words.word[2])) return false;
  answer->key = words.word[1];
  answer->has_value = true;
  return parse_number(words.word[3], &answer->value_bytes) && answer->value_bytes <= kMaxValueBytes;
}

bool parse_meta_response(std::string_view line, const Words& words, TextResponse* answer) {
  const bool value = answer->kind == Answer::kMetaValue;
  answer->has_value = value;
  if (value && (words.count < 2 || !parse_number(words.word[1], &answer->value_bytes))) return false;
  if (answer->value_bytes > kMaxValueBytes) return false;
  size_t number = 0;
  for_each_key(line, [&](std::string_view flag) {
    if (number++ < (value ? 2u : 1u)) return;
    if (flag.starts_with('k')) answer->key = flag.substr(1);
    if (flag.starts_with('O')) answer->opaque = flag.substr(1);
  });
  return true;
}

}  // namespace

TextRequest parse_request(std::string_view line) {
  TextRequest request;
  line = without_end(line);
  const Words words = split(line);
  if (words.count == 0 || line.front() == ' ') return request;
  request.command = command_named(words.word[0]);
  if (request.command == nullptr || !parse_arguments(line, words, &request)) return {};
  return request;
}

bool may_become_request(std::string_view bytes) {
  const size_t end = bytes.find_first_of(" \r\n");
  if (end != std::string_view::npos) return command_named(bytes.substr(0, end)) != nullptr;
  return std::any_of(std::begin(kCommands), std::end(kCommands),
                     [&](const Command& command) { return command.name.starts_with(bytes); });
}

TextResponse parse_response(std::string_view line) {
  TextResponse answer;
  line = without_end(line);
  const Words words = split(line);
  if (words.count == 0) return answer;
  const auto* it = std::find_if(std::begin(kAnswers), std::end(kAnswers),
                                [&](const ResponseWord& known_word) { return known_word.word == words.word[0]; });
  if (it == std::end(kAnswers)) {
    if (words.count == 1 && is_number(words.word[0])) answer.kind = Answer::kNumber;
    return answer;
  }
  answer.kind = it->answer;
  if (answer.kind == Answer::kValue) return parse_value(words, &answer) ? answer : TextResponse();
  const bool meta = answer.kind >= Answer::kMetaValue && answer.kind <= Answer::kMetaExists;
  if (meta) return parse_meta_response(line, words, &answer) ? answer : TextResponse();
  const bool is_alone = answer.kind <= Answer::kTouched || answer.kind == Answer::kMetaNoOp;
  return is_alone && words.count > 1 ? TextResponse() : answer;
}

bool may_become_response(std::string_view bytes) {
  const size_t end = bytes.find_first_of(" \r\n");
  const std::string_view word = bytes.substr(0, end);
  if (!word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; })) return true;
  return std::any_of(std::begin(kAnswers), std::end(kAnswers), [&](const ResponseWord& known_word) {
    return end == std::string_view::npos ? known_word.word.starts_with(word) : known_word.word == word;
  });
}

const BinaryCommand* binary_command(uint8_t opcode) {
  if (opcode >= std::size(kBinaryCommands) || kBinaryCommands[opcode].command.name.empty()) return nullptr;
  return &kBinaryCommands[opcode];
}

bool may_be_binary(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (bytes.empty() || (byte(0) != BinaryHead::kRequestMagic && byte(0) != BinaryHead::kResponseMagic)) return false;
  if (bytes.size() > 1 && binary_command(byte(1)) == nullptr) return false;
  return bytes.size() <= 5 || byte(5) == 0;
}

bool parse_head(std::string_view bytes, BinaryHead* head) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  head->magic = data[0];
  head->opcode = data[1];
  head->key_bytes = big_endian_16(data + 2);
  head->extra_bytes = data[4];
  head->status = big_endian_16(data + 6);
  head->body_bytes = big_endian_32(data + 8);
  head->opaque = big_endian_32(data + 12);
  if (head->key_bytes > kMaxKeyBytes || head->body_bytes > kMaxValueBytes) return false;
  if (uint64_t{head->key_bytes} + head->extra_bytes > head->body_bytes) return false;
  if (head->magic == BinaryHead::kResponseMagic) return head->extra_bytes <= 8;
  const uint8_t extras = binary_command(head->opcode)->extra_bytes;
  return head->extra_bytes == extras || (head->extra_bytes == 0 && extras == 4);
}

std::string_view status_of_silence(Group group) {
  switch (group) {
    case Group::kRead:
      return "miss";
    case Group::kWrite:
      return "stored";
    case Group::kRemove:
      return "deleted";
    case Group::kTouch:
      return "touched";
    default:
      return "ok";
  }
}

std::string_view status_of(Group group, Answer response) {
  switch (response) {
    case Answer::kValue:
    case Answer::kMetaValue:
      return group == Group::kRead ? "hit" : "ok";
    case Answer::kMetaDone:
      return group == Group::kRead ? "hit" : status_of_silence(group);
    case Answer::kEnd:
      return group == Group::kRead ? "miss" : "ok";
    case Answer::kMetaMiss:
      return "miss";
    case Answer::kStored:
      return "stored";
    case Answer::kNotStored:
    case Answer::kMetaNotStored:
      return "not_stored";
    case Answer::kExists:
    case Answer::kMetaExists:
      return "exists";
    case Answer::kNotFound:
    case Answer::kMetaNotFound:
      return "not_found";
    case Answer::kDeleted:
      return "deleted";
    case Answer::kTouched:
      return "touched";
    case Answer::kError:
      return "error";
    case Answer::kClientError:
      return "client_error";
    case Answer::kServerError:
      return "server_error";
    case Answer::kBusy:
      return "busy";
    case Answer::kNone:
      return "";
    default:
      return "ok";
  }
}

std::string_view status_of(Group group, uint16_t binary_status) {
  switch (binary_status) {
    case 0x00:
      return group == Group::kRead ? "hit" : status_of_silence(group);
    case 0x01:
      return group == Group::kRead ? "miss" : "not_found";
    case 0x02:
      return "exists";
    case 0x05:
      return "not_stored";
    case 0x03:
    case 0x04:
    case 0x06:
    case 0x20:
      return "client_error";
    case 0x21:
      return "ok";  // authentication continues
    case 0x81:
      return "error";
    case 0x85:
    case 0x86:
      return "busy";
    default:
      return "server_error";
  }
}

}  // namespace tapline::memcached
