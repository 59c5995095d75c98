#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "parsers/dns_query/message.h"
#include "parsers/transactions/id_pairing.h"
#include "parsers/transactions/transaction_parser.h"
#include "parsers/transactions/unit_reader.h"

namespace tapline::dns {

// Identifies a transaction of one flow. Some answers don't repeat the question; the ID must then suffice.
struct TransactionId {
  uint16_t id = 0;
  uint8_t opcode = 0;
  Side asker = 0;
  uint64_t question = 0;  // hash of the question; 0 = the message has none

  friend bool operator==(const TransactionId& a, const TransactionId& b) {
    return a.id == b.id && a.opcode == b.opcode && a.asker == b.asker &&
           (a.question == b.question || a.question == 0 || b.question == 0);
  }
};

struct Request : RequestHalf {  // its text is the name
  uint16_t type = 0;
  uint8_t opcode = 0;
  Flaw flaw = Flaw::kNone;
  uint32_t bytes = 0;
  uint32_t retries = 0;
};

struct Response : ResponseHalf {
  uint16_t type = 0;
  uint8_t opcode = 0;
  uint16_t rcode = 0;
  uint16_t answers = 0;
  Flaw flaw = Flaw::kNone;
  bool authoritative = false;
  bool truncated = false;
  uint32_t min_ttl_s = 0;
  uint32_t bytes = 0;
  std::string name = {};  // set only if its request was not seen
  std::string data = {};
};

// Pairs the questions and answers of one UDP flow or TCP connection.
//
// A question that is repeated before its answer is a retransmission: it is counted, and as many further answers are
// attributed to the question. An answer over UDP may be captured before its question, so it waits a short time. Answers
// to a zone transfer may fill many messages; the first one ends the transaction.
class Exchange {
 public:
  using Request = dns::Request;
  using Response = dns::Response;
  using Sink = TransactionSink<Request, Response>;
  // A client that has waited this long has switched to another server.
  static constexpr int64_t kIdTimeoutNs = 30'000'000'000;
  // Three tries of five seconds, the default timeout of resolvers (resolv.conf).
  static constexpr int64_t kSilenceTimeoutNs = 15'000'000'000;
  // The maximum time by which a mirror may deliver a question after its answer.
  static constexpr int64_t kLateNs = 50'000'000;
  static constexpr size_t kMaxHeld = 32;

  // Requires a plain question as proof that the flow is DNS. Call it for ports other than the DNS port.
  void set_strict() { strict_ = true; }
  void start_in_middle(Side side) { readers_[side].start_in_middle(); }
  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink);
  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink);
  // Handles a message that fills a datagram. `bytes` is its length, including bytes that were not captured.
  void datagram(Side side, const Message& message, uint32_t bytes, int64_t time_ns, Sink& sink);
  // Settles the answers that arrived before this time, which have waited long enough for their questions.
  void settle_responses(int64_t time_ns, Sink& sink) { pairing_.settle_responses(time_ns, kMaxHeld, sink); }
  bool holds_answers() const { return pairing_.waiting() > 0; }
  void end(Side side, Sink& sink);
  void visit_pending(Sink& sink) const { pairing_.visit_pending(sink); }
  int64_t report_overdue(int64_t before_ns, Sink& sink) { return pairing_.report_overdue(before_ns, sink); }
  bool has_failed() const;
  size_t memory_bytes() const;
  void recycle();

  uint32_t place = 0;  // position in the parser's list of flows with waiting answers, from 1

 private:
  struct Units;
  struct AnsweredQuery {
    TransactionId id;
    uint32_t more = 0;  // further answers to expect
  };
  static constexpr size_t kAnswered = 4;
  static constexpr size_t kMaxPending = 512;

  Unit unit(Side side, std::string_view bytes, const Segment& first, Sink& sink);
  void message(Side side, const Message& message, uint32_t bytes, const Segment& first, int64_t last_ns, Sink& sink);
  void on_request(Side side, const Message& message, uint32_t bytes, const Segment& first, Sink& sink);
  void answer(Side side, const Message& message, uint32_t bytes, const Segment& first, int64_t last_ns, Sink& sink);
  bool take_repeated(const TransactionId& id);

  UnitReader readers_[2] = {UnitReader(0, kMaxUnitBytes), UnitReader(1, kMaxUnitBytes)};
  static constexpr size_t kMaxUnitBytes = 2 + 65535;
  IdPairing<TransactionId, Request, Response, kMaxPending, true> pairing_;
  AnsweredQuery answered_[kAnswered] = {};
  size_t next_answered_ = 0;
  bool strict_ = false;
  bool recognised_ = false;
  Side asker_ = 0;     // the side of the latest question
  uint8_t ended_ = 0;  // bit per side
  int64_t next_check_ns_ = INT64_MIN;
};

}  // namespace tapline::dns
