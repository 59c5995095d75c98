#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/mysql_query/packet_reader.h"
#include "parsers/mysql_query/response.h"
#include "parsers/transactions/halves.h"

namespace tapline::mysql {

namespace code {
inline constexpr uint8_t kNone = 0x00, kQuit = 0x01, kInitDb = 0x02, kQuery = 0x03, kFieldList = 0x04, kCreateDb = 0x05,
                         kDropDb = 0x06, kStatistics = 0x09, kConnect = 0x0b, kChangeUser = 0x11, kBinlogDump = 0x12,
                         kTableDump = 0x13, kPrepare = 0x16, kExecute = 0x17, kLongData = 0x18, kClose = 0x19,
                         kFetch = 0x1c, kBinlogDumpGtid = 0x1e, kResetConnection = 0x1f, kBulkExecute = 0xfa;
}  // namespace code

// Capability bits of client and server that affect how packets are read.
namespace capability {
inline constexpr uint32_t kCompress = 1 << 5, kProtocol41 = 1 << 9, kTls = 1 << 11, kZstd = 1 << 26,
                          kQueryAttributes = 1 << 27, kDeprecateEof = 1 << 24;
}  // namespace capability

// Longer statements are truncated to the maximum string length of a tuple.
inline constexpr uint32_t kMaxStatementBytes = 32 << 10;
// The ID that denotes the statement prepared last, for servers that accept an execute before they have responded to the
// prepare.
inline constexpr uint32_t kLatestStatement = 0xffffffff;

// Returns the value of the field `kind`; empty if this is not a command.
std::string_view kind_of(uint8_t command);
bool has_text(uint8_t command);         // true if its payload is the statement or a name
bool is_answered(uint8_t command);      // true if the server responds to it
bool names_statement(uint8_t command);  // true if it names a statement by its ID
bool runs_statement(uint8_t command);   // true if it runs a statement or continues one
// Returns the number of bytes to keep of a client's packet that begins with this byte.
uint32_t kept_of_command(uint8_t first);

// A client's command packet, with its text as far as it was captured.
struct Command : RequestHalf {
  static constexpr bool kMayOverlap = false;  // a client waits for the response before it asks again

  uint8_t code = 0;
  uint8_t sequence = 0;  // number of its first packet
  uint8_t parts = 1;     // number of packets; 255 means 255 or more
  bool cut = false;      // true if the text was truncated
  uint32_t statement_id = 0;
  uint64_t more_bytes = 0;  // bytes that the client sent for it later (a file or password data)

  uint64_t bytes() const { return end - begin + more_bytes; }
  // Returns true if the response's sequence number does not continue the command's.
  bool contradicts(const Response& response) const {
    return response.sequence != static_cast<uint8_t>(sequence + parts) && parts < UINT8_MAX;
  }
};

// Fills in the command's fields, and sets *text to the statement without anything that may be a password. Skips query
// attributes, which are expected if the capabilities include them, or if the capabilities are unknown and the text
// begins like attributes.
void read_command(const Packet& packet, uint32_t capabilities, bool capabilities_known, Command* command,
                  std::string* text);

// Reads the capabilities in a client's first packet; returns false if it is not such a packet. Reads nothing else,
// since a name and a password follow.
bool read_login(const Packet& packet, uint32_t* capabilities);
// Returns true for the beginning of a login that continues encrypted (SSLRequest).
bool is_tls_request(const Packet& packet);

// Returns true if the bytes begin with a command that ends with them, extends beyond them, or is followed by another
// command. *strong is set if they can't be anything else.
bool looks_like_command(Bytes bytes, bool* strong);

}  // namespace tapline::mysql
