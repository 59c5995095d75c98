#pragma once

#include <cstdint>
#include <span>

#include "parsers/icmp/message.h"
#include "parsers/transactions/id_pairing.h"
#include "parsers/transactions/transaction_parser.h"

namespace tapline::icmp {

struct EchoId {
  uint16_t id = 0, sequence = 0;
  Side asker = 0;

  friend bool operator==(const EchoId&, const EchoId&) = default;
};

struct EchoRequest : RequestHalf {
  Message message;
  uint32_t bytes = 0;
  IpAddress asker;
};

struct EchoReply : ResponseHalf {
  Message message;
  uint32_t bytes = 0;
  IpAddress asker;
};

// Pairs the echo requests and replies of two hosts by identifier and sequence number (RFC 792, RFC 4443 section 4).
class Echoes {
 public:
  using Request = EchoRequest;
  using Response = EchoReply;
  using Sink = TransactionSink<Request, Response>;
  // A request is reported without a reply after this time, which is longer than programs usually wait.
  static constexpr int64_t kTimeoutNs = 10'000'000'000;
  static constexpr int64_t kSilenceTimeoutNs = kTimeoutNs;

  // Handles an echo. `asker` sends the requests: it is the sender of a request and the receiver of a reply.
  void message(Side side, const IpAddress& asker, const Message& message, uint32_t bytes, int64_t time_ns, Sink& sink) {
    const Segment segment = {.time_ns = time_ns, .offset = 0, .peer_offset = 0, .peer_offset_known = false};
    if (message.kind == Kind::kEchoRequest) {
      const EchoId id = {message.id, message.sequence, side};
      if (pairing_.pending() > 0) pairing_.expire_before(time_ns - kTimeoutNs, sink);
      fill(pairing_.begin_request(id, segment, sink), message, bytes, asker);
      pairing_.end_request(id, 0, sink);
    } else {
      const EchoId id = {message.id, message.sequence, other_side(side)};
      fill(pairing_.begin_response(id, segment, sink), message, bytes, asker);
      pairing_.end_response(id, 0, time_ns, sink);
    }
  }

  // ICMP has no streams.
  void start_in_middle(Side /*side*/) {}
  ExchangeVerdict data(Side, std::span<const uint8_t>, const Segment&, Sink&) { return ExchangeVerdict::kNotMine; }
  ExchangeVerdict gap(Side, uint64_t, const Segment&, Sink&) { return ExchangeVerdict::kNotMine; }
  void end(Side, Sink&) {}

  void visit_pending(Sink& sink) const { pairing_.visit_pending(sink); }
  int64_t report_overdue(int64_t before_ns, Sink& sink) { return pairing_.report_overdue(before_ns, sink); }
  bool has_failed() const { return false; }
  size_t memory_bytes() const { return pairing_.memory_bytes(); }
  void recycle() { pairing_.recycle(); }

 private:
  template <typename Half>
  static void fill(Half& half, const Message& message, uint32_t bytes, const IpAddress& asker) {
    half.message = message;
    half.bytes = bytes;
    half.asker = asker;
  }

  IdPairing<EchoId, Request, Response> pairing_;
};

}  // namespace tapline::icmp
