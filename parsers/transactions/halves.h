#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "parsers/api/connection.h"
#include "parsers/api/parser.h"

namespace tapline {

// The fields of a request that the pairing uses, without the text. A protocol's request derives from it, or from
// RequestHalf, and adds the fields that it reports. Objects are reused, so the protocol must set all fields that it
// adds after begin_request().
struct BareRequestHalf {
  int64_t first_ns = 0;
  uint64_t begin = 0;  // offsets refer to the requests' stream
  uint64_t end = 0;    // end of the part read so far
  // Response bytes that the client had received when it sent the request; 0 = unknown.
  uint64_t peer_offset = 0;
  uint32_t number = 0;  // number within its connection, from 1
  // Bit-fields keep a protocol's request small.
  bool complete : 1 = false;      // end is where it ends
  bool reported : 1 = false;      // reported as unanswered after the parser's timeout; its response may still arrive
  bool after_hidden : 1 = false;  // unseen requests may precede it
  bool begins_batch : 1 = false;  // the client had received more than when it sent the previous request, which was seen

  // A protocol with different rules hides these members in its request type. kMayOverlap is true if a client may send
  // another request when it has received some, but not all, of the responses that it waits for.
  static constexpr bool kMayOverlap = true;
  // Returns true if this response can't belong to the request, because it contains another command, key or number.
  template <typename Response>
  bool contradicts(const Response& /*response*/) const {
    return false;
  }
  // Returns true for a quiet command, which may get no response while later commands get one.
  bool may_be_silent() const { return false; }
};

// A request half with a text. A type that stores its text differently must have the same three functions.
struct RequestHalf : BareRequestHalf {
  static constexpr size_t kKeptTextBytes = 256;

  std::string text = {};  // the kept part, concatenated; only keep_text() appends to it

  size_t text_bytes() const { return text.size(); }  // counted as memory
  void clear_text() { text.clear(); }
  // Resets the request, but keeps the memory of a short text.
  void trim() {
    text.clear();
    if (text.capacity() > kKeptTextBytes) text.shrink_to_fit();
  }
};

// The fields of a response that the pairing uses. A protocol's response derives from it and must stay small, since its
// memory is not counted.
struct ResponseHalf {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t begin = 0;  // offsets refer to the responses' stream
  uint64_t end = 0;
  uint64_t quiet_until = 0;  // end, or a later offset, before which no other response begins
  uint64_t acked = 0;        // request bytes that the server had received when it began to respond
  bool acked_known = false;
  bool complete = false;      // end is where it ends
  bool after_hidden = false;  // unseen responses may precede it

  // Returns false if this response may be the only response to several requests. A protocol with such responses hides
  // this function.
  bool answers_one() const { return true; }

  void start(const Segment& first) {
    first_ns = last_ns = first.time_ns;
    begin = end = first.offset;
    acked = first.peer_offset;
    acked_known = first.peer_offset_known;
    complete = false;
  }
};

// The part of a transaction that was seen, and the reason why the rest is missing.
enum class Seen : uint8_t {
  kBoth,
  kUnanswered,  // the request; it got no response, and no loss explains that
  kRequest,     // the request; its response may have been lost, or the capture ended before it
  kResponse,
  kLate,  // both, after the request was reported as unanswered
};

// Receives transactions as they become certain.
template <typename Request, typename Response>
class TransactionSink {
 public:
  virtual ~TransactionSink() = default;
  // Receives a transaction. `request` or `response` is null if it was not seen or does not exist.
  virtual void on_transaction(const Request* request, const Response* response) = 0;
  // Receives a request to which the server did not respond: `response` belongs to a later one.
  virtual void on_silence(const Request& request, const Response& response) = 0;
  // Called when the payload identifies the client.
  virtual void on_client(Side side) = 0;
  virtual void on_loss(LossReason reason) = 0;
};

}  // namespace tapline
