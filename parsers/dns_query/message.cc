#include "parsers/dns_query/message.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "parsers/api/bytes.h"

namespace tapline::dns {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kMinQuestionBytes = 5, kMinRecordBytes = 11;
constexpr size_t kMaxNameBytes = 255, kMaxPointers = 127;
constexpr uint8_t kPointer = 0xc0;
constexpr uint16_t kInternet = 1, kAnyClass = 255;

template <size_t kMaxBytes>
bool append_number(uint64_t number, Text<kMaxBytes>* text) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return text->append({digits, static_cast<size_t>(end - digits)});
}

uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? static_cast<uint8_t>(c | 0x20) : c; }

template <size_t kMaxBytes>
bool append_escaped(uint8_t c, Text<kMaxBytes>* text) {
  const char plain = static_cast<char>(c);
  if (c == '.' || c == '\\') return text->append("\\") && text->append({&plain, 1});
  if (c > 0x20 && c < 0x7f) return text->append({&plain, 1});
  const char escaped[] = {'\\', static_cast<char>('0' + c / 100), static_cast<char>('0' + c / 10 % 10),
                          static_cast<char>('0' + c % 10)};
  return text->append({escaped, sizeof escaped});
}

// An FNV-1a hash, which distinguishes the questions of one flow that share an ID.
class Hash {
 public:
  void add(uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }
  void add_16(uint16_t number) {
    add(static_cast<uint8_t>(number >> 8));
    add(static_cast<uint8_t>(number));
  }
  uint64_t value() const { return value_ == 0 ? 1 : value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

// Reads a name at *offset, moves *offset past it, and appends the name to `text` (null: skips it). Reads at most 255
// bytes and follows at most kMaxPointers pointers, so it always ends. Returns false if there is no valid name, or if
// `text` has no room for it.
template <size_t kMaxBytes>
bool read_name(Bytes message, size_t* offset, Text<kMaxBytes>* text, Hash* hash, Flaw* flaw) {
  size_t position = *offset, part = *offset, name_bytes = 0, labels = 0, pointers = 0;
  const auto note = [&](Flaw other_flaw) { *flaw = std::max(*flaw, other_flaw); };
  while (position < message.size()) {
    const uint8_t length = message[position];
    if ((length & kPointer) == kPointer) {
      if (position + 2 > message.size()) return false;
      const size_t target = big_endian_16(message.data() + position) & 0x3fff;
      if (pointers++ == 0) *offset = position + 2;
      if (pointers > kMaxPointers) {
        note(Flaw::kPointerLoop);
        return false;
      }
      if (target >= part) note(Flaw::kForwardPointer);
      position = part = target;
      continue;
    }
    if ((length & kPointer) != 0) return false;
    name_bytes += 1u + length;
    ++position;
    if (name_bytes > kMaxNameBytes || position + length > message.size()) {
      // If all pointers lead backwards, a name can't pass the same offset twice.
      if (name_bytes > kMaxNameBytes && *flaw == Flaw::kForwardPointer) note(Flaw::kPointerLoop);
      return false;
    }
    if (hash != nullptr) hash->add(length);
    if (length == 0) {
      if (pointers == 0) *offset = position;
      return text == nullptr || labels > 0 || text->append(".");
    }
    if (text != nullptr && labels > 0 && !text->append(".")) return false;
    ++labels;
    for (const uint8_t byte : message.subspan(position, length)) {
      if (hash != nullptr) hash->add(lower(byte));
      if (text != nullptr && !append_escaped(lower(byte), text)) return false;
    }
    position += length;
  }
  return false;
}

bool skip_name(Bytes message, size_t* offset, Flaw* flaw) {
  return read_name<1>(message, offset, nullptr, nullptr, flaw);
}

struct Record {
  uint16_t type = 0;
  uint32_t ttl = 0;
  size_t data = 0;  // offset in the message
  size_t data_bytes = 0;
};

bool read_record(Bytes message, size_t* offset, Record* record, Flaw* flaw) {
  if (!skip_name(message, offset, flaw) || message.size() - *offset < 10) return false;
  const uint8_t* fixed = message.data() + *offset;
  *record = {big_endian_16(fixed), big_endian_32(fixed + 4), *offset + 10, big_endian_16(fixed + 8)};
  *offset += 10;
  if (record->data_bytes > message.size() - *offset) return false;
  *offset += record->data_bytes;
  return true;
}

bool append_address(int family, const uint8_t* bytes, AnswerText* text) {
  char buffer[INET6_ADDRSTRLEN];
  return inet_ntop(family, bytes, buffer, sizeof buffer) != nullptr && text->append(buffer);
}

// Appends a record's numbers and the name after them, as in MX and SRV.
bool append_numbers_and_name(Bytes message, const Record& record, size_t numbers, AnswerText* text, Flaw* flaw) {
  if (record.data_bytes < 2 * numbers + 1) return false;
  for (size_t i = 0; i < numbers; ++i) {
    if (!append_number(big_endian_16(message.data() + record.data + 2 * i), text) || !text->append(" ")) return false;
  }
  size_t offset = record.data + 2 * numbers;
  return read_name(message, &offset, text, nullptr, flaw);
}

bool append_strings(Bytes data, AnswerText* text) {
  while (!data.empty() && data.size() > data[0]) {
    for (const uint8_t byte : data.subspan(1, data[0])) {
      const char plain = static_cast<char>(byte);
      const bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '\\';
      if (is_plain ? !text->append({&plain, 1}) : !append_escaped(byte, text)) return false;
    }
    data = data.subspan(1u + data[0]);
  }
  return true;
}

bool append_data(Bytes message, const Record& record, AnswerText* text, Flaw* flaw) {
  const Bytes data = message.subspan(record.data, record.data_bytes);
  switch (record.type) {
    case type::kA:
      return data.size() == 4 && append_address(AF_INET, data.data(), text);
    case type::kAaaa:
      return data.size() == 16 && append_address(AF_INET6, data.data(), text);
    case type::kNs:
    case type::kCname:
    case type::kPtr:
    case type::kDname:
      return append_numbers_and_name(message, record, 0, text, flaw);
    case type::kMx:
      return append_numbers_and_name(message, record, 1, text, flaw);
    case type::kSrv:
      return append_numbers_and_name(message, record, 3, text, flaw);
    case type::kTxt:
      return append_strings(data, text);
    default: {
      Text<16> scratch;
      return text->append(name_of_type(record.type, &scratch));
    }
  }
}

void note_answer(Bytes bytes, const Record& record, bool is_first, Message* message) {
  if (is_first || record.ttl < message->min_ttl_s) message->min_ttl_s = record.ttl;
  const size_t previous_size = message->data.size();
  if (!is_first && previous_size > 0 && !message->data.append(",")) return;
  if (!append_data(bytes, record, &message->data, &message->flaw)) message->data.cut(previous_size);
}

// Reads the records up to the first unreadable one.
void read_records(Bytes bytes, size_t offset, Message* message) {
  const size_t records = size_t{message->answers} + big_endian_16(bytes.data() + 8) + big_endian_16(bytes.data() + 10);
  Record record;
  for (size_t i = 0; i < records; ++i) {
    if (!read_record(bytes, &offset, &record, &message->flaw)) return;
    if (i < message->answers) note_answer(bytes, record, i == 0, message);
    if (record.type == type::kOpt && i >= message->answers) {
      message->rcode = static_cast<uint16_t>(message->rcode | record.ttl >> 24 << 4);
    }
  }
  message->whole = offset == bytes.size();
}

// Returns false if the message ends before the end of the question's class. If its name is unreadable, returns true
// without a type, since the name's end is unknown.
bool read_question(Bytes bytes, size_t* offset, Message* message) {
  Hash hash;
  message->has_question_name = read_name(bytes, offset, &message->name, &hash, &message->flaw);
  message->question_hash = hash.value();
  if (!message->has_question_name) {
    if (message->flaw != Flaw::kPointerLoop) message->flaw = Flaw::kBadName;
    return true;
  }
  if (bytes.size() - *offset < 4) return false;
  message->type = big_endian_16(bytes.data() + *offset);
  message->question_class = big_endian_16(bytes.data() + *offset + 2);
  *offset += 4;
  hash.add_16(message->type);
  hash.add_16(message->question_class);
  message->question_hash = hash.value();
  return true;
}

bool skip_questions(Bytes bytes, uint16_t questions, size_t* offset, Flaw* flaw) {
  for (uint16_t i = 0; i < questions; ++i) {
    if (!skip_name(bytes, offset, flaw) || bytes.size() - *offset < 4) return false;
    *offset += 4;
  }
  return true;
}

// Returns true if the message may lack questions and records: a status request is a header alone (RFC 1035), session
// messages follow the header directly (RFC 8490), and errors may omit the question.
bool may_be_empty(size_t message_bytes, const Message& message) {
  if (message.is_response && message.rcode != 0) return true;
  return (message.opcode == opcode::kStatus && message_bytes == kHeaderBytes) || message.opcode == opcode::kStateful;
}

// Checks that the records counted in the header fit into `message_bytes`, and that a message without records may be
// empty.
bool is_plausible(Bytes bytes, size_t message_bytes, const Message& message) {
  const size_t records = size_t{message.answers} + big_endian_16(bytes.data() + 8) + big_endian_16(bytes.data() + 10);
  if (message.questions + records == 0 && !may_be_empty(message_bytes, message)) return false;
  return message.questions * kMinQuestionBytes + records * kMinRecordBytes <= message_bytes - kHeaderBytes;
}

}  // namespace

bool read(Bytes bytes, size_t message_bytes, Message* message) {
  if (bytes.size() < kHeaderBytes || message_bytes < bytes.size()) return false;
  const uint16_t flags = big_endian_16(bytes.data() + 2);
  message->id = big_endian_16(bytes.data());
  message->is_response = (flags & 0x8000) != 0;
  message->opcode = static_cast<uint8_t>(flags >> 11 & 0xf);
  message->authoritative = (flags & 0x0400) != 0;
  message->truncated = (flags & 0x0200) != 0;
  message->rcode = flags & 0xf;
  message->questions = big_endian_16(bytes.data() + 4);
  message->answers = big_endian_16(bytes.data() + 6);
  message->type = message->question_class = 0;
  message->question_hash = 0;
  message->min_ttl_s = 0;
  message->whole = false;
  message->flaw = Flaw::kNone;
  message->has_question_name = true;
  message->name.clear();
  message->data.clear();
  if (!is_plausible(bytes, message_bytes, *message)) return false;
  size_t offset = kHeaderBytes;
  if (message->questions > 0 && !read_question(bytes, &offset, message)) return false;
  // If bytes were not captured, the name may only be incomplete, so it is not reported as invalid.
  if (!message->has_question_name) return bytes.size() == message_bytes || message->flaw == Flaw::kPointerLoop;
  if (message->questions > 1 &&
      !skip_questions(bytes, static_cast<uint16_t>(message->questions - 1), &offset, &message->flaw)) {
    return true;
  }
  read_records(bytes, offset, message);
  return true;
}

bool is_plain_question(Bytes bytes, const Message& message) {
  const uint16_t flags = big_endian_16(bytes.data() + 2);
  const bool is_question = message.answers == 0 && big_endian_16(bytes.data() + 8) == 0;
  const bool known_class = message.question_class == kInternet || message.question_class == kAnyClass;
  // Clients may set recursion desired, authentic data and checking disabled.
  return !message.is_response && (flags & ~0x0130) == 0 && message.questions == 1 && is_question && message.whole &&
         known_class && message.type != 0;
}

std::string_view name_of_type(uint16_t type, Text<16>* scratch) {
  static constexpr std::pair<uint16_t, std::string_view> kNames[] = {
      {1, "A"},      {2, "NS"},       {5, "CNAME"},   {6, "SOA"},    {12, "PTR"},        {13, "HINFO"},
      {15, "MX"},    {16, "TXT"},     {24, "SIG"},    {25, "KEY"},   {28, "AAAA"},       {29, "LOC"},
      {33, "SRV"},   {35, "NAPTR"},   {39, "DNAME"},  {41, "OPT"},   {43, "DS"},         {44, "SSHFP"},
      {46, "RRSIG"}, {47, "NSEC"},    {48, "DNSKEY"}, {50, "NSEC3"}, {51, "NSEC3PARAM"}, {52, "TLSA"},
      {59, "CDS"},   {60, "CDNSKEY"}, {64, "SVCB"},   {65, "HTTPS"}, {99, "SPF"},        {249, "TKEY"},
      {250, "TSIG"}, {251, "IXFR"},   {252, "AXFR"},  {255, "ANY"},  {256, "URI"},       {257, "CAA"}};
  for (const auto& [number, name] : kNames) {
    if (number == type) return name;
  }
  scratch->clear();
  scratch->append("TYPE");
  append_number(type, scratch);
  return scratch->view();
}

std::string_view name_of_rcode(uint16_t rcode, Text<16>* scratch) {
  static constexpr std::string_view kNames[] = {"NOERROR",  "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP",  "REFUSED",
                                                "YXDOMAIN", "YXRRSET", "NXRRSET",  "NOTAUTH",  "NOTZONE", "DSOTYPENI"};
  if (rcode < std::size(kNames)) return kNames[rcode];
  if (rcode == 16) return "BADVERS";
  if (rcode == 23) return "BADCOOKIE";
  scratch->clear();
  scratch->append("RCODE");
  append_number(rcode, scratch);
  return scratch->view();
}

std::string_view name_of_opcode(uint8_t opcode, Text<16>* scratch) {
  static constexpr std::string_view kNames[] = {"QUERY", "IQUERY", "STATUS", "OPCODE3", "NOTIFY", "UPDATE", "DSO"};
  if (opcode < std::size(kNames)) return kNames[opcode];
  scratch->clear();
  scratch->append("OPCODE");
  append_number(opcode, scratch);
  return scratch->view();
}

std::string_view name_of(Flaw flaw) {
  static constexpr std::string_view kNames[] = {"", "forward-pointer", "pointer-loop", "bad-name"};
  return kNames[static_cast<size_t>(flaw)];
}

}  // namespace tapline::dns
