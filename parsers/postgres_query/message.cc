#include "parsers/postgres_query/message.h"

#include <algorithm>

#include "parsers/api/bytes.h"

namespace tapline::postgres {
namespace {

constexpr uint64_t kMaxMessageBytes = 1 << 30;  // the server's limit
constexpr uint32_t kMaxStartupBytes = 10'000;   // the server's limit
constexpr uint32_t kTlsCode = 80877103, kGssCode = 80877104, kCancelCode = 80877102, kMajorVersion = 3;
constexpr uint64_t kMaxErrorBytes = 1024;

const uint8_t* data_of(std::string_view bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

// Returns true if a client's message of this type can have this length. Lengths exclude the type, as in messages.
bool client_length_fits(char type, uint64_t length) {
  if (is_in(type, "SHXc")) return length == 4;
  if (is_in(type, "DC")) return length >= 6;
  if (is_in(type, "QFfp")) return length >= 5;
  if (type == 'P') return length >= 8;
  if (type == 'B') return length >= 10;
  if (type == 'E') return length >= 9;
  return type == 'd' && length >= 4;
}

bool server_length_fits(char type, uint64_t length) {
  if (is_in(type, "123nsIc")) return length == 4;
  if (type == 'Z') return length == 5;
  if (type == 'C') return length >= 5 && length <= 256;
  if (type == 'K') return length >= 12 && length <= 272;
  if (is_in(type, "TDt")) return length >= 6;
  if (is_in(type, "GHW")) return length >= 7;
  if (is_in(type, "RV")) return length >= 8;
  return is_in(type, "SNEAdv") && length >= 4;
}

bool read_head(std::string_view bytes, Head* head) {
  const uint64_t length = big_endian_32(data_of(bytes) + 1);
  *head = {bytes[0], length + 1};
  return length >= 4 && length < kMaxMessageBytes;
}

bool is_readable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 || (c >= '\t' && c <= '\r'); });
}

}  // namespace

bool read_client_head(std::string_view bytes, Head* head) {
  return read_head(bytes, head) && client_length_fits(head->type, head->total - 1);
}

bool read_server_head(std::string_view bytes, Head* head) {
  return read_head(bytes, head) && server_length_fits(head->type, head->total - 1);
}

uint64_t looked_at(const Head& head, bool from_client) {
  uint64_t wanted = kHeadBytes;
  if (from_client) {
    if (head.type == 'Q') wanted += kMaxStatementBytes;
    if (head.type == 'P') wanted += kMaxNameBytes + kMaxStatementBytes;
    if (is_in(head.type, "BEDC")) wanted += 2 * kMaxNameBytes;
  } else if (is_in(head.type, "CEZ")) {
    wanted = kMaxErrorBytes;
  }
  return std::min(wanted, head.total);
}

Startup read_startup(std::string_view bytes, uint64_t* total) {
  const uint32_t length = big_endian_32(data_of(bytes)), version = big_endian_32(data_of(bytes) + 4);
  *total = length;
  if (length == 8 && version == kTlsCode) return Startup::kTls;
  if (length == 8 && version == kGssCode) return Startup::kGss;
  if (length >= 16 && length <= 268 && version == kCancelCode) return Startup::kCancel;
  const bool connects = version >> 16 == kMajorVersion && (version & 0xffff) < 16;
  return connects && length > 8 && length <= kMaxStartupBytes ? Startup::kConnect : Startup::kNot;
}

int count_messages(std::string_view bytes, bool from_client) {
  int messages = 0;
  while (bytes.size() >= kHeadBytes) {
    Head head;
    if (!(from_client ? read_client_head(bytes, &head) : read_server_head(bytes, &head))) return 0;
    if (head.type == 'Z' && bytes.size() > kHeadBytes && !is_in(bytes[kHeadBytes], "ITE")) return 0;
    if (head.total > bytes.size()) return messages;
    bytes.remove_prefix(head.total);
    ++messages;
  }
  return messages;
}

bool looks_like_requests(std::string_view bytes, bool* strong) {
  *strong = false;
  Head head;
  if (bytes.size() < kHeadBytes || !read_client_head(bytes, &head) || !is_in(head.type, "QPBEDCSFX")) return false;
  const int messages = count_messages(bytes, true);
  const std::string_view text = bytes.substr(kHeadBytes, std::min<uint64_t>(head.total, bytes.size()) - kHeadBytes);
  if (head.type == 'Q') {
    const bool is_whole = head.total == bytes.size() && text.ends_with('\0');
    *strong = is_whole && text.size() > 4 && is_readable(text.substr(0, text.size() - 1));
    return *strong || (head.total > bytes.size() && bytes.size() > 500 && is_readable(text));
  }
  *strong = messages >= 2;
  return messages >= 1 || (head.type == 'P' && bytes.size() > 500);
}

bool looks_like_responses(std::string_view bytes, bool* strong) {
  *strong = false;
  Head head;
  if (bytes.size() < kHeadBytes || !read_server_head(bytes, &head) || !is_in(head.type, "123TCEInGHWVtR")) return false;
  const int messages = count_messages(bytes, false);
  *strong = messages >= 2;
  return messages >= 1;
}

std::string_view take_name(std::string_view* rest) {
  const size_t end = std::min(rest->find('\0'), rest->size());
  const std::string_view name = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return name;
}

uint64_t affected_rows(std::string_view tag) {
  if (tag.starts_with("SELECT") || tag.starts_with("FETCH")) return 0;
  const size_t blank = tag.rfind(' ');
  if (blank == std::string_view::npos) return 0;
  uint64_t rows = 0;
  for (const char c : tag.substr(blank + 1)) {
    if (c < '0' || c > '9') return 0;
    rows = rows * 10 + static_cast<uint64_t>(c - '0');
  }
  return rows;
}

// Layout: | field (1) | text | 0 | … | 0 |
std::string_view sqlstate(std::string_view error_fields) {
  constexpr size_t kCodeBytes = 5;
  while (!error_fields.empty() && error_fields[0] != '\0') {
    const char field = error_fields[0];
    error_fields.remove_prefix(1);
    const std::string_view text = take_name(&error_fields);
    if (field == 'C') return text.size() == kCodeBytes ? text : std::string_view();
  }
  return {};
}

std::string_view quotes_in(std::string_view statement) {
  for (size_t position = statement.find('$'); position != std::string_view::npos;
       position = statement.find('$', position + 1)) {
    const char next = position + 1 < statement.size() ? statement[position + 1] : '0';
    if (next < '0' || next > '9') return "'$";
  }
  return "'";
}

}  // namespace tapline::postgres
