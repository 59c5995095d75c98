#include "parsers/mysql_query/command.h"

#include <algorithm>
#include <array>

#include "parsers/sql/hide_secrets.h"

namespace tapline::mysql {
namespace {

constexpr std::array<std::string_view, 0x22> kKinds = {"",
                                                       "quit",
                                                       "init_db",
                                                       "query",
                                                       "field_list",
                                                       "create_db",
                                                       "drop_db",
                                                       "refresh",
                                                       "shutdown",
                                                       "statistics",
                                                       "process_info",
                                                       "connect",
                                                       "process_kill",
                                                       "debug",
                                                       "ping",
                                                       "time",
                                                       "delayed_insert",
                                                       "change_user",
                                                       "binlog_dump",
                                                       "table_dump",
                                                       "connect_out",
                                                       "register_slave",
                                                       "prepare",
                                                       "execute",
                                                       "long_data",
                                                       "close",
                                                       "reset_statement",
                                                       "set_option",
                                                       "fetch",
                                                       "daemon",
                                                       "binlog_dump_gtid",
                                                       "reset_connection",
                                                       "clone",
                                                       "subscribe_group_replication"};

constexpr uint32_t kKeptOfOthers = 36;  // a login up to its filler
constexpr uint32_t kTlsRequestBytes = 32;
constexpr size_t kMaxAttributes = 1024;
constexpr size_t kMinSegmentBytes = 500;  // the shortest segment that may end within a command
constexpr std::string_view kQuotes = "'\"";

bool is_internal(uint8_t command) {
  return command == 0x0b || command == 0x0f || command == 0x10 || command == 0x14 || command == 0x1d;
}

// Returns the length of a parameter's value in the binary protocol; npos if the value begins with its length.
size_t value_bytes(uint8_t type) {
  switch (type) {
    case 0x01:  // TINY
      return 1;
    case 0x02:  // SHORT
    case 0x0d:  // YEAR
      return 2;
    case 0x03:  // LONG
    case 0x04:  // FLOAT
    case 0x09:  // INT24
      return 4;
    case 0x05:  // DOUBLE
    case 0x08:  // LONGLONG
      return 8;
    case 0x06:  // NULL
      return 0;
    default:
      return std::string_view::npos;
  }
}

void skip_value(Cursor& cursor, uint8_t type) {
  const size_t bytes = value_bytes(type);
  cursor.skip(bytes == std::string_view::npos ? cursor.length_encoded() : bytes);
}

// Skips query attributes: | count | sets = 1 | null bitmap | types sent = 1 | (type (2), name) … | values |
bool skip_attributes(Cursor& cursor) {
  const uint64_t count = cursor.length_encoded();
  if (cursor.length_encoded() != 1 || count > kMaxAttributes) return false;
  if (count == 0) return cursor.ok();
  const Bytes nulls = cursor.rest();
  cursor.skip((count + 7) / 8);
  if (cursor.u8() != 1) return false;
  std::array<uint8_t, kMaxAttributes> types;
  for (size_t i = 0; i < count && cursor.ok(); ++i) {
    types[i] = static_cast<uint8_t>(cursor.u16());
    cursor.skip(cursor.length_encoded());
  }
  for (size_t i = 0; i < count && cursor.ok(); ++i) {
    if ((nulls[i / 8] >> i % 8 & 1) == 0) skip_value(cursor, types[i]);
  }
  return cursor.ok();
}

bool is_text_byte(uint8_t byte) { return byte >= 0x20 || (byte >= '\t' && byte <= '\r'); }

// Returns the statement after its query attributes, if there are any. No statement begins with a control character
// other than white space.
Bytes without_attributes(Bytes text, uint32_t capabilities, bool capabilities_known) {
  if (text.empty()) return text;
  const bool expected = capabilities_known ? (capabilities & capability::kQueryAttributes) != 0
                                           : text.size() > 1 && !is_text_byte(text[0]) && text[1] == 1;
  Cursor cursor(text);
  return expected && skip_attributes(cursor) ? cursor.rest() : text;
}

void read_text(const Packet& packet, Bytes bytes, Command* command, std::string* text) {
  command->cut = packet.cut || packet.payload.size() < packet.length;
  text->assign(text_of(bytes));
  // A field_list contains a table's name, NUL, and a pattern for columns.
  if (command->code == code::kFieldList) text->resize(std::min(text->find('\0'), text->size()));
  sql::hide_secrets(*text, kQuotes, command->cut);
}

}  // namespace

std::string_view kind_of(uint8_t command) {
  if (command == code::kBulkExecute) return "execute";
  return command < kKinds.size() ? kKinds[command] : "";
}

bool has_text(uint8_t command) {
  return (command >= code::kInitDb && command <= code::kDropDb) || command == code::kPrepare;
}

bool is_answered(uint8_t command) {
  return command != code::kQuit && command != code::kLongData && command != code::kClose;
}

bool names_statement(uint8_t command) {
  return (command >= code::kExecute && command <= 0x1a) || command == code::kFetch || command == code::kBulkExecute;
}

bool runs_statement(uint8_t command) {
  return command == code::kExecute || command == code::kBulkExecute || command == code::kFetch;
}

uint32_t kept_of_command(uint8_t first) { return has_text(first) ? 1 + kMaxStatementBytes : kKeptOfOthers; }

void read_command(const Packet& packet, uint32_t capabilities, bool capabilities_known, Command* command,
                  std::string* text) {
  text->clear();
  command->code = packet.payload.empty() ? code::kNone : packet.payload[0];
  command->sequence = packet.sequence;
  command->parts = packet.parts;
  command->cut = packet.cut;
  command->statement_id = 0;
  command->more_bytes = 0;
  if (packet.payload.empty()) return;
  Bytes rest = packet.payload.subspan(1);
  if (command->code == code::kQuery) rest = without_attributes(rest, capabilities, capabilities_known);
  if (has_text(command->code)) read_text(packet, rest, command, text);
  if (names_statement(command->code)) command->statement_id = Cursor(rest).u32();
}

// Layout:
//
//   | capabilities (4) | largest packet (4) | character set (1) | zeros (19) | more capabilities (4) | name, password …
bool read_login(const Packet& packet, uint32_t* capabilities) {
  constexpr size_t kZerosAt = 9, kZeros = 19;
  const bool is_enough = packet.payload.size() >= kZerosAt + kZeros || (packet.cut && packet.payload.size() > kZerosAt);
  if (packet.sequence != 1 || packet.length < kTlsRequestBytes || !is_enough) return false;
  *capabilities = Cursor(packet.payload).u32();
  const Bytes zeros = packet.payload.subspan(kZerosAt, std::min(kZeros, packet.payload.size() - kZerosAt));
  return (*capabilities & capability::kProtocol41) != 0 &&
         (is_tls_request(packet) || packet.length > kTlsRequestBytes) &&
         std::all_of(zeros.begin(), zeros.end(), [](uint8_t byte) { return byte == 0; });
}

bool is_tls_request(const Packet& packet) {
  return packet.length == kTlsRequestBytes && (Cursor(packet.payload).u32() & capability::kTls) != 0;
}

bool looks_like_command(Bytes bytes, bool* strong) {
  *strong = false;
  bool has_any = false;
  while (bytes.size() >= 5) {
    const size_t length = Cursor(bytes).number(3);
    const uint8_t command = bytes[4];
    if (length == 0 || bytes[3] != 0 || kind_of(command).empty() || is_internal(command)) return false;
    const Bytes text = bytes.subspan(5, std::min(length, bytes.size() - 4) - 1);
    const bool readable = std::all_of(text.begin(), text.end(), is_text_byte);
    if (has_text(command) && !readable && command != code::kQuery && command != code::kFieldList) return false;
    *strong |= has_text(command) && readable && text.size() >= 4;
    has_any = true;
    if (length + 4 > bytes.size()) return has_text(command) && bytes.size() >= kMinSegmentBytes;
    bytes = bytes.subspan(4 + length);
  }
  return has_any && bytes.empty();
}

}  // namespace tapline::mysql
