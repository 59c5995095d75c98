#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tapline::dns {

constexpr size_t kHeaderBytes = 12;  // length of a message header (RFC 1035, 4.1.1)

// Text of bounded size that allocates no memory. append() returns false, and adds nothing, if its argument does not
// fit.
template <size_t kMaxBytes>
class Text {
 public:
  void clear() { size_ = 0; }
  bool append(std::string_view text) {
    if (text.size() > kMaxBytes - size_) return false;
    for (const char c : text) bytes_[size_++] = c;
    return true;
  }
  void cut(size_t size) { size_ = size; }
  size_t size() const { return size_; }
  std::string_view view() const { return {bytes_, size_}; }

 private:
  size_t size_ = 0;
  char bytes_[kMaxBytes];
};

// A name has at most 255 bytes (RFC 1035 section 2.3.4), each of which takes up to four characters.
using NameText = Text<1024>;
using AnswerText = Text<512>;

namespace opcode {
inline constexpr uint8_t kQuery = 0, kStatus = 2, kNotify = 4, kUpdate = 5, kStateful = 6, kLast = 6;
}
namespace type {
inline constexpr uint16_t kA = 1, kNs = 2, kCname = 5, kPtr = 12, kMx = 15, kTxt = 16, kAaaa = 28, kSrv = 33,
                          kDname = 39, kOpt = 41, kIxfr = 251, kAxfr = 252;
}

// The fault, or the worst of several faults, in a message that is still readable, at least in part.
enum class Flaw : uint8_t {
  kNone,
  kForwardPointer,  // a compressed name points forward (RFC 1035 section 4.1.4: only to a prior one)
  kPointerLoop,     // a compressed name never ends
  kBadName,         // the question's name is too long, has an invalid label, or points beyond the message
};
std::string_view name_of(Flaw flaw);  // "", "forward-pointer", "pointer-loop", "bad-name"

// One DNS message (RFC 1035 section 4): its header, its first question, and the data of its answers.
struct Message {
  uint16_t id = 0;
  bool is_response = false;
  uint8_t opcode = 0;
  bool authoritative = false;
  bool truncated = false;
  uint16_t rcode = 0;  // including the upper bits that EDNS adds (RFC 6891 section 6.1.3)
  uint16_t questions = 0, answers = 0;
  // The first question. Names are in lower case, without the final dot, "." for the root; unprintable bytes are \DDD
  // and a dot within a label is \. (RFC 4343).
  NameText name;
  uint16_t type = 0;
  uint16_t question_class = 0;
  uint64_t question_hash = 0;  // hash of name, type and class; 0 if there is no question
  // The data of the answers, joined by commas, as far as they fit.
  AnswerText data;
  uint32_t min_ttl_s = 0;  // minimum of the answers
  bool whole = false;      // all records were read, and nothing follows them
  Flaw flaw = Flaw::kNone;
  bool has_question_name = true;  // false: the question's name is unreadable, and `name` is its beginning
};

// Returns false if this is not a DNS message. `message_bytes` is its length and `bytes` the captured part: records
// after the question may be missing or malformed. Reads each byte a bounded number of times, regardless of the
// compression pointers.
bool read(std::span<const uint8_t> bytes, size_t message_bytes, Message* message);

// Returns true for a client's message with one question and no unusual field, which is enough to recognise DNS on any
// port.
bool is_plain_question(std::span<const uint8_t> bytes, const Message& message);

// Return "A", "AAAA", …, "TYPE65280" (RFC 3597); "NOERROR", …, "RCODE3841"; "QUERY", …, "OPCODE7". Names with numbers
// are written to `scratch`.
std::string_view name_of_type(uint16_t type, Text<16>* scratch);
std::string_view name_of_rcode(uint16_t rcode, Text<16>* scratch);
std::string_view name_of_opcode(uint8_t opcode, Text<16>* scratch);

}  // namespace tapline::dns
