#include "parsers/mysql_query/response.h"

#include <algorithm>
#include <utility>

#include "parsers/mysql_query/command.h"

namespace tapline::mysql {
namespace {

constexpr uint8_t kOkHeader = 0x00, kMoreDataHeader = 0x01, kFileHeader = 0xfb, kEofHeader = 0xfe, kErrorHeader = 0xff;
constexpr uint16_t kMoreResults = 0x0008, kCursorExists = 0x0040;
constexpr uint32_t kMaxColumns = 4096;        // limit of any table or select
constexpr uint32_t kProgressReport = 0xffff;  // sent by MariaDB; looks like an error packet, but is not one
constexpr size_t kMinOkBytes = 7;
constexpr size_t kMaxEofBytes = 9;
constexpr size_t kMaxCountBytes = 4;  // count of columns, and a flag that they follow
constexpr size_t kPreparedBytes = 12;
constexpr uint16_t kMinErrorCode = 1000;

uint8_t header_of(const Packet& packet) { return packet.payload.empty() ? 0 : packet.payload[0]; }

bool is_error(const Packet& packet) { return header_of(packet) == kErrorHeader && packet.length >= 3; }

// Layout: | 00 or fe | affected rows | last id | status (2) | warnings (2) | … |
struct Ok {
  uint64_t affected_rows;
  uint16_t server_status;
};
Ok read_ok(Bytes payload) {
  Cursor cursor(payload);
  cursor.skip(1);
  Ok result = {};
  result.affected_rows = cursor.length_encoded();
  cursor.length_encoded();
  result.server_status = cursor.u16();
  return result;
}

bool is_ok_shape(Bytes payload) {
  Cursor cursor(payload);
  cursor.skip(1);
  cursor.length_encoded();
  cursor.length_encoded();
  const uint16_t server_status = cursor.u16();
  const uint16_t warnings = cursor.u16();
  return cursor.ok() && server_status < 0x8000 && warnings < 0x1000;
}

// Returns true if the bytes are packets with consecutive numbers, up to their end.
bool is_chain(Bytes bytes) {
  for (uint8_t sequence = bytes[3]; bytes.size() >= kHeaderBytes; ++sequence) {
    if (bytes[3] != sequence) return false;
    const size_t length = Cursor(bytes).number(3);
    bytes = bytes.subspan(std::min(kHeaderBytes + length, bytes.size()));
  }
  return true;
}

// Layout: | 00 | id (4) | columns (2) | parameters (2) | 00 | warnings (2) | [metadata follows] |
bool is_prepared_shape(const Packet& packet) {
  if (packet.length < kPreparedBytes || packet.length > kPreparedBytes + 1 || packet.payload.size() < kPreparedBytes)
    return false;
  Cursor cursor(packet.payload.subspan(1));
  const uint32_t id = cursor.u32();
  const uint16_t columns = cursor.u16();
  cursor.skip(2);
  return cursor.u8() == 0 && id != 0 && columns <= kMaxColumns;
}

// Returns true if a packet with the length of a response to a prepare is an OK instead: text follows the warnings, not
// numbers.
bool is_ok_rather(const Packet& packet) {
  Cursor cursor(packet.payload.subspan(1));
  cursor.length_encoded();
  cursor.length_encoded();
  cursor.skip(4);
  const Bytes info = cursor.rest();
  return cursor.ok() && std::none_of(info.begin(), info.end(), [](uint8_t byte) { return byte == 0; });
}

bool is_column_definition(Bytes payload) {
  return payload.size() >= 4 && payload[0] == 3 && text_of(payload.subspan(1, 3)) == "def";
}

bool is_readable(Bytes text) {
  constexpr size_t kMinTextBytes = 6;
  return text.size() >= kMinTextBytes && std::all_of(text.begin(), text.end(), [](uint8_t c) { return c >= 0x20; });
}

bool is_error_shape(Bytes payload) {
  Cursor cursor(payload);
  cursor.skip(1);
  const uint16_t error_code = cursor.u16();
  if (error_code < kMinErrorCode || !cursor.ok() || cursor.rest().size() < 6 || cursor.rest()[0] != '#') return false;
  const Bytes state = cursor.rest().subspan(1, 5);
  return std::all_of(state.begin(), state.end(),
                     [](uint8_t c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
}

}  // namespace

ExpectedResponse expected_of(uint8_t command) {
  switch (command) {
    case code::kPrepare:
      return ExpectedResponse::kPrepared;
    case code::kFetch:
    case code::kBinlogDump:
    case code::kBinlogDumpGtid:
    case code::kTableDump:
      return ExpectedResponse::kRows;
    case code::kFieldList:
      return ExpectedResponse::kFields;
    case code::kStatistics:
      return ExpectedResponse::kText;
    case code::kConnect:
    case code::kChangeUser:
      return ExpectedResponse::kLogin;
    default:
      return ExpectedResponse::kResult;
  }
}

bool is_eof_packet(const Packet& packet) {
  return header_of(packet) == kEofHeader && (packet.length == 5 || packet.length == 1);
}

void ResponseReader::begin(ExpectedResponse expected) {
  expected_ = expected;
  const bool headless = expected == ExpectedResponse::kRows || expected == ExpectedResponse::kFields;
  step_ = headless ? Step::kRows : Step::kHead;
  client_speaks_ = expected == ExpectedResponse::kLogin;
  takes_file_ = false;
}

ResponseReader::Progress ResponseReader::read(const Packet& packet, Response* response) {
  switch (step_) {
    case Step::kHead:
      return head(packet, response);
    case Step::kColumns:
      return column(packet, response);
    case Step::kColumnsEnd:
      return columns_end(packet, response);
    case Step::kRows:
      return row(packet, response);
    case Step::kDefinitions:
      return is_error(packet) ? error(packet, response) : definition(packet);
    case Step::kDefinitionsEnd:
      return definitions_end(packet);
  }
  return Progress::kNot;
}

ResponseReader::Progress ResponseReader::head(const Packet& packet, Response* response) {
  if (packet.length == 0) return Progress::kNot;
  if (packet.payload.empty()) {
    // The first byte was not captured.
    response->cut = true;
    return Progress::kNot;
  }
  if (is_error(packet)) return error(packet, response);
  if (expected_ == ExpectedResponse::kLogin) return login(packet, response);
  if (expected_ == ExpectedResponse::kText) return result_done(0, response);
  takes_file_ = client_speaks_ = false;
  const bool may_be_prepared = expected_ == ExpectedResponse::kPrepared || expected_ == ExpectedResponse::kUnknown;
  switch (header_of(packet)) {
    case kOkHeader:
      if (may_be_prepared && is_prepared_shape(packet) &&
          (expected_ == ExpectedResponse::kPrepared || !is_ok_rather(packet)))
        return prepared(packet, response);
      if (packet.length > 2) return ok(packet, response);
      return column_count(packet);
    case kFileHeader:
      takes_file_ = client_speaks_ = true;
      return Progress::kMore;
    case kEofHeader:
      return eof(packet, response);
    default:
      return column_count(packet);
  }
}

// Handles an OK, or a request to authenticate with another method or to continue, after which the client and then the
// server respond.
ResponseReader::Progress ResponseReader::login(const Packet& packet, Response* response) {
  switch (header_of(packet)) {
    case kOkHeader:
      return ok(packet, response);
    case kEofHeader:
    case kMoreDataHeader:
      return Progress::kMore;
    default:
      return Progress::kNot;
  }
}

ResponseReader::Progress ResponseReader::error(const Packet& packet, Response* response) {
  Cursor cursor(packet.payload);
  cursor.skip(1);
  const uint32_t error_code = cursor.u16();
  if (error_code == kProgressReport) return Progress::kMore;
  response->status = Status::kError;
  response->error_code = error_code;
  return Progress::kDone;
}

ResponseReader::Progress ResponseReader::ok(const Packet& packet, Response* response) {
  const Ok values = read_ok(packet.payload);
  response->affected_rows += values.affected_rows;
  return result_done(values.server_status, response);
}

// Layout: | fe | warnings (2) | status (2) |, or as in OK.
ResponseReader::Progress ResponseReader::eof(const Packet& packet, Response* response) {
  uint16_t server_status = 0;
  if (is_eof_packet(packet)) {
    Cursor cursor(packet.payload);
    cursor.skip(3);
    server_status = cursor.u16();
  } else {
    server_status = read_ok(packet.payload).server_status;
  }
  return result_done(server_status, response);
}

ResponseReader::Progress ResponseReader::result_done(uint16_t server_status, Response* response) {
  response->status = Status::kOk;
  if (expected_ != ExpectedResponse::kLogin) ++response->results;
  if ((server_status & kMoreResults) == 0) return Progress::kDone;
  step_ = Step::kHead;
  return Progress::kMore;
}

// Reads the count and, from some servers, a flag that columns follow: | [follow] | count | or | count | [follow] |.
ResponseReader::Progress ResponseReader::column_count(const Packet& packet) {
  Cursor cursor(packet.payload);
  uint64_t count = cursor.length_encoded();
  bool follow = true;
  if (packet.length >= 2 && cursor.ok() && !cursor.rest().empty()) {
    const uint64_t second = cursor.length_encoded();
    if (count == 0 || (count == 1 && second > 1)) {
      follow = count != 0;
      count = second;
    } else {
      follow = second != 0;
    }
  }
  if (!cursor.ok() || !cursor.rest().empty() || count == 0 || count > kMaxColumns) return Progress::kNot;
  definitions_ = static_cast<uint32_t>(count);
  step_ = follow ? Step::kColumns : Step::kColumnsEnd;
  return Progress::kMore;
}

ResponseReader::Progress ResponseReader::column(const Packet& packet, Response* response) {
  if (is_error(packet)) return error(packet, response);
  if (--definitions_ == 0) step_ = Step::kColumnsEnd;
  return Progress::kMore;
}

// Handles the packet after the columns. An OK at a result's end has more than 5 bytes, so a packet of 5 bytes ends the
// columns.
ResponseReader::Progress ResponseReader::columns_end(const Packet& packet, Response* response) {
  step_ = Step::kRows;
  if (!is_eof_packet(packet)) {
    eof_packets_ = EofPackets::kNotSent;
    return row(packet, response);
  }
  eof_packets_ = EofPackets::kSent;
  Cursor cursor(packet.payload);
  cursor.skip(3);
  const uint16_t server_status = cursor.u16();
  // The rows of a cursor are fetched by later commands.
  if ((server_status & kCursorExists) != 0) return result_done(server_status, response);
  return Progress::kMore;
}

// Handles a row or the end of the rows. A row's first byte is 00, fb (NULL), or the first byte of a value's length,
// which is fe only in rows of 16 MiB or more, and never ff.
ResponseReader::Progress ResponseReader::row(const Packet& packet, Response* response) {
  if (is_error(packet)) return error(packet, response);
  if (header_of(packet) == kEofHeader && packet.length < PacketReader::kMaxPartBytes) return eof(packet, response);
  if (packet.payload.empty() && packet.cut) {
    // The short packet may have been the end of the result.
    response->cut = true;
    if (packet.length <= kMaxEofBytes) return Progress::kMore;
  }
  if (expected_ == ExpectedResponse::kFields) return Progress::kMore;
  ++response->rows;
  if (response->first_row_ns == 0) response->first_row_ns = packet.first.time_ns;
  response->last_row_ns = packet.last_ns;
  return Progress::kMore;
}

ResponseReader::Progress ResponseReader::prepared(const Packet& packet, Response* response) {
  Cursor cursor(packet.payload.subspan(1));
  response->prepared = true;
  response->statement_id = cursor.u32();
  response->status = Status::kOk;
  next_definitions_ = cursor.u16();
  definitions_ = cursor.u16();
  const bool none_follow = packet.length == kPreparedBytes + 1 && packet.payload.size() > kPreparedBytes &&
                           packet.payload[kPreparedBytes] == 0;
  if (none_follow) definitions_ = next_definitions_ = 0;
  if (definitions_ == 0) definitions_ = std::exchange(next_definitions_, 0);
  step_ = Step::kDefinitions;
  return definitions_ == 0 ? Progress::kDone : Progress::kMore;
}

ResponseReader::Progress ResponseReader::definition(const Packet& packet) {
  if (is_eof_packet(packet)) return Progress::kNot;
  if (--definitions_ > 0) return Progress::kMore;
  switch (eof_packets_) {
    case EofPackets::kSent:
      step_ = Step::kDefinitionsEnd;
      return Progress::kMore;
    case EofPackets::kNotSent:
      return next_definitions();
    case EofPackets::kUnknown:
      step_ = Step::kDefinitionsEnd;
      return next_definitions_ == 0 ? Progress::kMaybeDone : Progress::kMore;
  }
  return Progress::kNot;
}

ResponseReader::Progress ResponseReader::next_definitions() {
  definitions_ = std::exchange(next_definitions_, 0);
  step_ = Step::kDefinitions;
  return definitions_ == 0 ? Progress::kDone : Progress::kMore;
}

ResponseReader::Progress ResponseReader::definitions_end(const Packet& packet) {
  if (is_eof_packet(packet)) {
    eof_packets_ = EofPackets::kSent;
    return next_definitions();
  }
  if (eof_packets_ == EofPackets::kSent) return Progress::kNot;
  eof_packets_ = EofPackets::kNotSent;
  if (next_definitions() == Progress::kDone) return Progress::kNot;
  return definition(packet);
}

bool looks_like_response(Bytes bytes, uint8_t sequence, bool* strong) {
  *strong = false;
  if (bytes.size() <= kHeaderBytes || bytes[3] != sequence || !is_chain(bytes)) return false;
  const size_t length = Cursor(bytes).number(3);
  if (length == 0) return false;
  const Bytes payload = bytes.subspan(kHeaderBytes, std::min(length, bytes.size() - kHeaderBytes));
  const Bytes next = bytes.subspan(kHeaderBytes + payload.size());
  const bool column_follows = next.size() > kHeaderBytes && is_column_definition(next.subspan(kHeaderBytes));
  switch (payload[0]) {
    case kErrorHeader:
      *strong = is_error_shape(payload);
      return *strong;
    case kOkHeader:
      *strong = column_follows && (length == kPreparedBytes || length == kPreparedBytes + 1);
      return *strong || (length >= kMinOkBytes && next.empty() && is_ok_shape(payload));
    case kEofHeader:
      return length == 5 || length >= kMinOkBytes;
    default:
      *strong = column_follows && length <= kMaxCountBytes;
      return *strong || (length <= kMaxCountBytes && !next.empty());
  }
}

// Reads the server's initial handshake packet, or the error packet that takes its place. Returns false if the packet is
// neither.
//
//   | 10 | version, 0 | thread ID (4) | scramble (8) | 0 | capabilities, low (2) | character set (1) | status (2) |
//   | capabilities, high (2) | …
bool read_greeting(const Packet& packet, uint32_t* capabilities) {
  constexpr uint8_t kProtocolVersion = 10;
  constexpr size_t kMaxVersionBytes = 128;
  *capabilities = 0;
  if (packet.sequence != 0 || packet.payload.empty()) return false;
  if (is_error(packet)) {
    Cursor cursor(packet.payload);
    cursor.skip(1);
    const uint16_t error_code = cursor.u16();
    return error_code >= kMinErrorCode && error_code < 10 * kMinErrorCode && is_readable(cursor.rest());
  }
  if (packet.payload[0] != kProtocolVersion) return false;
  const std::string_view text = text_of(packet.payload.subspan(1));
  const std::string_view version = text.substr(0, text.substr(0, kMaxVersionBytes).find('\0'));
  if (version.empty() || !std::all_of(version.begin(), version.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return false;
  if (packet.cut) return true;
  Cursor cursor(packet.payload.subspan(1));
  cursor.skip(version.size() + 1 + 4 + 8);
  if (cursor.u8() != 0) return false;
  *capabilities = cursor.u16();
  if (!cursor.ok()) return false;
  cursor.skip(3);
  *capabilities |= static_cast<uint32_t>(cursor.u16()) << 16;
  return true;
}

}  // namespace tapline::mysql
