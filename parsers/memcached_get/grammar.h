#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::memcached {

// The kind of operation that a command performs, in any of the protocols.
enum class Group : uint8_t { kRead, kWrite, kRemove, kArithmetic, kTouch, kOther };

// The syntax of a text command's arguments.
enum class Form : uint8_t {
  kKeys,      // get <key>*
  kTimeKeys,  // gat <seconds> <key>*
  kStore,     // set <key> <flags> <seconds> <bytes> [noreply], and a value
  kKey,       // delete <key> … [noreply]
  kMeta,      // mg <key> <flag>*
  kMetaStore  // ms <key> <bytes> <flag>*, and a value
  ,
  kPlain  // anything
};

// A kind of text response, identified by its first word. The values are bit positions in Command::answers.
enum class Answer : uint8_t {
  kValue,
  kEnd,
  kStored,
  kNotStored,
  kExists,
  kNotFound,
  kDeleted,
  kTouched,
  kNumber,
  kOk,
  kVersion,
  kStat,
  kItem,
  kReset,
  kMetaValue,
  kMetaDone,
  kMetaMiss,
  kMetaNotFound,
  kMetaNotStored,
  kMetaExists,
  kMetaNoOp,
  kMetaDebug,
  kError,
  kClientError,
  kServerError,
  kBusy,
  kNone,
};
constexpr uint32_t bit(Answer response) { return 1u << static_cast<int>(response); }

// An entry in the table of commands.
struct Command {
  std::string_view name;
  Group group;
  Form form;
  uint32_t answers;  // bits of its possible responses, apart from errors
};

// A command line of the text or meta protocol (doc/protocol.txt of memcached). Views point into the line.
struct TextRequest {
  const Command* command = nullptr;  // null if the line is not a command
  std::string_view keys = {};        // separated by one or more spaces; at most one except for Form::kKeys, kTimeKeys
  uint64_t value_bytes = 0;          // length of the value that follows the line
  bool has_value = false;
  bool never_answered = false;   // noreply, quit
  bool quiet = false;            // meta flag q
  std::string_view opaque = {};  // meta flag O
};

// Parses a line with its line end; `command` is null if it is malformed. The check is strict, since a malformed line
// belongs to another protocol or is not the beginning of a request.
TextRequest parse_request(std::string_view line);
// Returns true if a line with this beginning might still become a request.
bool may_become_request(std::string_view bytes);

// A line of a response. Views point into the line.
struct TextResponse {
  Answer kind = Answer::kNone;   // kNone if the line is not a response
  std::string_view key = {};     // the key in VALUE or in the meta flag k
  std::string_view opaque = {};  // the meta flag O
  uint64_t value_bytes = 0;
  bool has_value = false;
};
TextResponse parse_response(std::string_view line);
bool may_become_response(std::string_view bytes);

// Calls visit(key) for each key in TextRequest::keys.
template <typename Visit>
void for_each_key(std::string_view keys, Visit visit) {
  while (!keys.empty()) {
    const size_t end = keys.find(' ');
    if (end != 0) visit(keys.substr(0, end));
    if (end == std::string_view::npos) return;
    keys.remove_prefix(end + 1);
  }
}

// The header of a message in the binary protocol.
//
//   ┌───────┬────────┬────────────┬──────────────┬───────────┬─────────────────┬────────────┬────────┬─────┐
//   │ magic │ opcode │ key length │ extra length │ data type │ vbucket, status │ body bytes │ opaque │ cas │
//   │ 1     │ 1      │ 2          │ 1            │ 1         │ 2               │ 4          │ 4      │ 8   │
//   └───────┴────────┴────────────┴──────────────┴───────────┴─────────────────┴────────────┴────────┴─────┘
//   followed by extras, key and value, which have "body bytes" in total
struct BinaryHead {
  static constexpr size_t kBytes = 24;
  static constexpr uint8_t kRequestMagic = 0x80, kResponseMagic = 0x81;

  uint8_t magic = 0;
  uint8_t opcode = 0;
  uint16_t key_bytes = 0;
  uint8_t extra_bytes = 0;
  uint16_t status = 0;
  uint32_t body_bytes = 0;
  uint32_t opaque = 0;

  uint64_t value_bytes() const { return body_bytes - extra_bytes - key_bytes; }
  uint64_t bytes() const { return kBytes + uint64_t{body_bytes}; }
  // Returns the length of head, extras and key.
  uint64_t unit_bytes() const { return kBytes + extra_bytes + key_bytes; }
};

struct BinaryCommand {
  Command command;
  bool quiet;           // gets no response if there is nothing to report
  uint8_t extra_bytes;  // length of its request's extras
};

// Returns true if the available bytes begin like a message of the binary protocol.
bool may_be_binary(std::string_view bytes);
// Returns false if the lengths are contradictory, too large, or wrong for the opcode. REQUIRES: may_be_binary(bytes),
// and at least 24 bytes.
bool parse_head(std::string_view bytes, BinaryHead* head);
// Returns null for opcodes that memcached doesn't have.
const BinaryCommand* binary_command(uint8_t opcode);

// Returns the status of a response, in the same words for all protocols.
std::string_view status_of(Group group, Answer response);
std::string_view status_of(Group group, uint16_t binary_status);
// Returns the status that a quiet command has if no response follows.
std::string_view status_of_silence(Group group);

}  // namespace tapline::memcached
