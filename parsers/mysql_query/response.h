#pragma once

#include <cstdint>

#include "parsers/mysql_query/packet_reader.h"
#include "parsers/transactions/halves.h"

namespace tapline::mysql {

enum class Status : uint8_t { kNone, kOk, kError, kTls, kCompressed };

// The server's response to one command.
struct Response : ResponseHalf {
  Status status = Status::kNone;
  bool greeting = false;  // true if it replaces the greeting: the server refuses the connection
  bool cut = false;       // true if a part was not captured, perhaps with more rows, results or an error
  bool prepared = false;  // true if a statement was prepared; statement_id is its ID
  uint8_t sequence = 0;   // number of its first packet
  uint32_t statement_id = 0;
  uint32_t error_code = 0;
  uint32_t results = 0;  // result sets and counts of affected rows
  uint64_t rows = 0;
  uint64_t affected_rows = 0;
  int64_t first_row_ns = 0;  // 0 if there are no rows
  int64_t last_row_ns = 0;
};

// The use of EOF packets after columns and rows: older servers send them, those that use DEPRECATE_EOF don't.
enum class EofPackets : uint8_t { kUnknown, kSent, kNotSent };

// The form of the response to a command.
enum class ExpectedResponse : uint8_t {
  kUnknown,  // the command was not seen
  kResult,   // OK, an error, or result sets
  kPrepared,
  kRows,    // without a head: fetched rows, a replica's events
  kFields,  // columns without a head
  kText,    // one packet
  kLogin,   // both sides' messages until the server accepts or refuses
};
ExpectedResponse expected_of(uint8_t command);

// Follows one response, packet by packet, up to its last one.
//
//   head ─▶ columns ─▶ [EOF] ─▶ rows ─▶ EOF or OK: more results follow ─▶ head …
//   head ─▶ parameters ─▶ [EOF] ─▶ columns ─▶ [EOF]                  (a statement was prepared)
//   head ─▶ file data from the client ─▶ head                        (LOAD DATA LOCAL)
class ResponseReader {
 public:
  enum class Progress : uint8_t {
    kMore,
    kDone,
    kMaybeDone,  // an EOF packet that belongs to the response may follow
    kNot,        // no server sends such a packet here
  };

  void begin(ExpectedResponse expected);
  Progress read(const Packet& packet, Response* response);

  bool in_rows() const { return step_ == Step::kRows; }
  // Returns true if the client must send data before the server continues, so that sequence numbers jump.
  bool client_speaks() const { return client_speaks_; }
  bool takes_file() const { return takes_file_; }

  EofPackets eof_packets() const { return eof_packets_; }
  void set_eof_packets(EofPackets eof_packets) { eof_packets_ = eof_packets; }

 private:
  enum class Step : uint8_t { kHead, kColumns, kColumnsEnd, kRows, kDefinitions, kDefinitionsEnd };

  Progress head(const Packet& packet, Response* response);
  Progress login(const Packet& packet, Response* response);
  Progress error(const Packet& packet, Response* response);
  Progress ok(const Packet& packet, Response* response);
  Progress eof(const Packet& packet, Response* response);
  Progress prepared(const Packet& packet, Response* response);
  Progress column_count(const Packet& packet);
  Progress column(const Packet& packet, Response* response);
  Progress columns_end(const Packet& packet, Response* response);
  Progress row(const Packet& packet, Response* response);
  Progress definition(const Packet& packet);
  Progress next_definitions();
  Progress definitions_end(const Packet& packet);
  Progress result_done(uint16_t server_status, Response* response);

  Step step_ = Step::kHead;
  ExpectedResponse expected_ = ExpectedResponse::kUnknown;
  EofPackets eof_packets_ = EofPackets::kUnknown;
  bool client_speaks_ = false;
  bool takes_file_ = false;
  uint32_t definitions_ = 0;       // number of columns or parameters that follow
  uint32_t next_definitions_ = 0;  // number of columns after the parameters
};

// Returns true for an EOF packet as sent after columns and rows: 5 bytes, or 1 from servers older than 4.1.
bool is_eof_packet(const Packet& packet);

// Returns true if reading of a server's stream can resume here after a loss: the bytes begin with the first packet of a
// response, which has this sequence number. *strong is set if they can't be anything else.
bool looks_like_response(Bytes bytes, uint8_t sequence, bool* strong);

// Reads a server's first packet. Returns false if this is not one; otherwise sets *capabilities: to 0 if the server
// refuses the connection, or if they were not captured.
bool read_greeting(const Packet& packet, uint32_t* capabilities);

}  // namespace tapline::mysql
