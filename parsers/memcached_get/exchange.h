#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/memcached_get/grammar.h"
#include "parsers/transactions/id_pairing.h"
#include "parsers/transactions/ordered_exchange.h"

namespace tapline::memcached {

struct Response;

// The request's text is its keys, separated by spaces.
struct Request : RequestHalf {
  const Command* command = nullptr;
  bool binary = false;
  bool quiet = false;
  bool never_answered = false;
  uint8_t opcode = 0;
  uint32_t opaque = 0;       // the binary protocol's opaque; for meta commands, the hash of the O flag; 0 = none
  uint32_t key_hash = 0;     // hash of the only key; 0 if there is none, or several
  uint64_t value_bytes = 0;  // bytes of the value sent with it

  bool contradicts(const Response& response) const;
  // Returns true if values may be missing before the response.
  bool may_lack_head(const Response& response) const;
  bool may_be_silent() const { return quiet; }
};

// A key for which a response has a value or, if the hash is 0, a gap in the response.
struct FoundValue {
  uint32_t key_hash;
  uint32_t value_bytes;
};

struct Response : ResponseHalf {
  Answer answer = Answer::kNone;  // the latest line other than kEnd
  bool binary = false;
  bool cut = false;        // a part of the response was not captured
  bool after_gap = false;  // the response's beginning may be missing
  uint8_t opcode = 0;
  uint16_t status = 0;
  uint32_t opaque = 0;                 // as in Request
  uint32_t key_hash = 0;               // hash of the first key that the response names, 0 = none
  uint32_t first_bytes = 0;            // length of that key's value
  uint64_t value_bytes = 0;            // length of all values
  std::string key = {};                // its first key, if no request is known
  std::vector<FoundValue> found = {};  // values after the first
  // The expected rest of a response in several datagrams: the number of the next one, and the bytes to skip in it.
  uint16_t next_datagram = 0;
  uint64_t skip = 0;
  std::string line = {};  // a line that began in the previous datagram
};

uint32_t hash_of(std::string_view key);

// Reads both sides of one memcached connection, in the text, meta or binary protocol, or the datagrams of one flow.
//
// Nothing is reported until the bytes are recognised for certain: at the stream's beginning by a well-formed command
// with arguments, or by a response that no other protocol has; in mid-stream, by messages of both sides, or by three in
// a row.
class Exchange final : public OrderedExchange<Exchange, Request, Response, 1024> {
 public:
  void visit_pending(Sink& sink) const;
  int64_t report_overdue(int64_t before_ns, Sink& sink) {
    if (!confirmed_) return INT64_MAX;
    return std::min(pairing_.report_overdue(before_ns, sink), datagrams_.report_overdue(before_ns, sink));
  }
  size_t memory_bytes() const { return OrderedExchange::memory_bytes() + datagrams_.memory_bytes(); }
  void recycle();

  // Returns true if the payload begins like a memcached datagram.
  static bool may_be_datagram(std::string_view payload);
  // REQUIRES: may_be_datagram() is true for this payload or an earlier one of the flow.
  void datagram(Side side, std::string_view payload, int64_t time_ns, Sink& sink);

  // Called by UnitReader.
  Unit on_unit(Side side, std::string_view bytes, const Segment& first);
  void on_skipped(Side side, uint64_t end_offset, int64_t time_ns);
  bool may_resume(Side side, std::string_view bytes) const;
  size_t resume_within(Side side, std::string_view bytes) const;
  void on_hidden(Side side, uint64_t offset);

 private:
  Unit text_unit(Side side, std::string_view bytes, const Segment& first);
  Unit binary_unit(Side side, std::string_view bytes, const Segment& first);
  Unit text_request(Side side, std::string_view line, const Segment& first);
  Unit text_response(Side side, std::string_view line, const Segment& first);
  void binary_request(Side side, const BinaryHead& head, std::string_view key, const Segment& first);
  void binary_response(Side side, const BinaryHead& head, std::string_view key, const Segment& first);
  void recognise(Side asking, Side speaking, bool certain) {
    OrderedExchange::recognise(asking, speaking, certain, true);
  }
  Request& open_request(const Segment& first, bool never_answered);
  void close_request(Request& request, uint64_t end, bool is_whole);
  void begin_answer(const Segment& first, const Response& response);
  void add_found(Response& response, std::string_view key, uint64_t value_bytes);
  void end_answer(uint64_t end, int64_t time_ns, bool complete = true);
  bool tear(Side side);
  bool continues(const TextResponse& line, const Segment& first) const;
  void end_torn();

  void datagram_request(uint16_t id, std::string_view message, const Segment& segment, Side side);
  void datagram_response(uint16_t id, uint16_t number, std::string_view message, const Segment& segment, bool is_last);
  bool read_lines(Response& response, std::string_view text);
  bool was_answered(uint16_t id) const;

  IdPairing<uint16_t, Request, Response> datagrams_;
  Request unanswered_;                 // being reported; its memory is reused
  bool in_value_[2] = {false, false};  // true while the value after a unit is skipped
  // True if the response being read belongs to a get of several keys and has a gap: it may continue after the gap, or
  // have ended within it.
  bool torn_ = false;
  uint64_t torn_end_ = 0;  // end of the bytes seen before the gap
  int64_t torn_ns_ = 0;
  std::array<uint16_t, 8> answered_ = {};  // IDs of the latest requests with responses, 0 = none
  size_t answered_count_ = 0;
};

}  // namespace tapline::memcached
