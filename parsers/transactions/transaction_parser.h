#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/api/parser.h"
#include "parsers/transactions/halves.h"
#include "parsers/transactions/touch.h"

namespace tapline {

// Returns the value of the field `partial`: "" for a whole transaction, else the half that was seen.
inline std::string_view partial_of(Seen seen) {
  if (seen == Seen::kBoth) return "";
  return seen == Seen::kUnanswered || seen == Seen::kRequest ? "request" : "response";
}

// Return the last two fields of every transaction parser.
inline Field partial_field() {
  return {"partial", FieldType::kString, "",
          "request: no response was seen; response: no request was seen in time; empty: both were seen"};
}
inline Field unanswered_field() {
  return {"unanswered", FieldType::kBool, "",
          "No response arrived, and neither a loss nor the end of the capture explains that"};
}

// Returns the duration from a request's first byte to `moment_ns`, a time in its response. It is absent if the request
// was not seen, or if the response was captured before its request.
inline Value duration_of(const BareRequestHalf* request, int64_t moment_ns) {
  if (request == nullptr || moment_ns < request->first_ns) return Value::absent(FieldType::kI64);
  return Value::i64(moment_ns - request->first_ns);
}
inline Value time_to_first_byte(const BareRequestHalf* request, const ResponseHalf* response) {
  return response == nullptr ? Value::absent(FieldType::kI64) : duration_of(request, response->first_ns);
}
inline Value time_to_last_byte(const BareRequestHalf* request, const ResponseHalf* response) {
  const bool ended = response != nullptr && response->complete;
  return ended ? duration_of(request, response->last_ns) : Value::absent(FieldType::kI64);
}

// Returns the length of a half according to its offsets in the stream, or an absent value if its end was not seen.
template <typename Half>
Value bytes_of(const Half* half) {
  if (half == nullptr || !half->complete) return Value::absent(FieldType::kU64);
  return Value::u64(half->end - half->begin);
}

inline Value u64_if(bool is_known, uint64_t value) {
  return is_known ? Value::u64(value) : Value::absent(FieldType::kU64);
}
inline Value bool_if(bool is_known, bool value) {
  return is_known ? Value::boolean(value) : Value::absent(FieldType::kBool);
}
inline Value text_if(bool is_known, std::string_view text) {
  return is_known ? Value::string(text) : Value::absent(FieldType::kString);
}

enum class ExchangeVerdict : uint8_t {
  kFine,
  kNotMine,  // the connection uses another protocol
  kOver,     // it switched to another protocol, or to encryption
};

// Base class of transaction parsers. A protocol derives from it, defines how a transaction becomes a tuple, and
// provides an Exchange, which reads both sides of one connection. Exchanges of ended connections are reused, so that
// new connections allocate nothing; beyond kMaxMemoryBytes in total, a connection's pending messages are reported as
// they are, and its exchange is dropped.
//
//   class Exchange {
//    public:
//     using Request = …; using Response = …;
//     void start_in_middle(Side);      // its first bytes were not captured
//     void set_client(Side);           // optional: the handshake identified the client
//     void suggest_client(Side, bool by_query);  // optional: the client by the query's TO, or else by a guess
//     static constexpr bool kResponsesHaveNumbers;  // optional: present if numbers determine pairs, not order
//     ExchangeVerdict data(Side, std::span<const uint8_t>, const Segment&, TransactionSink<Request, Response>&);
//     ExchangeVerdict gap(Side, uint64_t bytes, const Segment&, TransactionSink<Request, Response>&);
//                                      // reports everything before it returns another verdict than kFine
//     void end(Side, TransactionSink<Request, Response>&);
//     void visit_pending(TransactionSink<Request, Response>&) const;  // changes nothing
//     int64_t report_overdue(int64_t before_ns, TransactionSink<Request, Response>&);  // as OrderedPairing's
//     static constexpr int64_t kSilenceTimeoutNs;  // optional: a request that waits longer is reported as unanswered
//     bool has_failed() const;         // too many bytes were read without a sign of the protocol
//     size_t memory_bytes() const;     // beyond the object itself
//     static constexpr size_t kMaxMemoryBytes;  // optional: bound for all exchanges together
//     void recycle();                  // resets it, and keeps little memory
//     void look_ahead() const;         // optional: touch()es memory outside the object that is needed soon
//   };
template <typename Exchange>
class TransactionParser : public StreamParser {
 public:
  using Request = typename Exchange::Request;
  using Response = typename Exchange::Response;
  static constexpr size_t kMaxMemoryBytes = [] {
    if constexpr (requires { Exchange::kMaxMemoryBytes; }) return Exchange::kMaxMemoryBytes;
    return size_t{256} << 20;
  }();
  static constexpr size_t kMaxIdleExchanges = 4096;
  static constexpr int64_t kSilenceTimeoutNs = [] {
    if constexpr (requires { Exchange::kSilenceTimeoutNs; }) return Exchange::kSilenceTimeoutNs;
    return int64_t{60'000'000'000};
  }();

  Needs needs() const override {
    return {.packets = false, .streams = true, .interval_ns = kNsPerSecond, .connection_state_bytes = sizeof(State)};
  }

  void on_interval(int64_t end_ns, Emitter& out) override { report_overdue(end_ns, out); }

  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& out) override {
    place_of(connection).data_ns = segment.time_ns;
    return with_exchange(connection, out, [&](Exchange& exchange, TransactionSink<Request, Response>& sink) {
      return exchange.data(side, bytes, segment, sink);
    });
  }

  void look_ahead(const Connection& connection, int step) const override {
    const uint32_t slot = this->template state_of<State>(connection).slot;
    if (slot == 0) return;
    const Place& place = places_[slot - 1];
    const std::unique_ptr<Exchange>& exchange = place.exchange;
    if (step == 0) {
      touch(&place, sizeof place);
    } else if (step == 1) {
      touch(exchange.get(), sizeof(Exchange));
    } else if constexpr (requires { exchange->look_ahead(); }) {
      exchange->look_ahead();
    }
  }

  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment,
                       Emitter& out) override {
    place_of(connection).lost_ns = segment.time_ns;
    return with_exchange(connection, out, [&](Exchange& exchange, TransactionSink<Request, Response>& sink) {
      return exchange.gap(side, bytes, segment, sink);
    });
  }

  void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t /*time_ns*/, Emitter& out) override {
    if (!has_exchange(connection)) return;
    place_of(connection).closed |= end != StreamEnd::kGivenUp;
    with_exchange(connection, out, [&](Exchange& exchange, TransactionSink<Request, Response>& sink) {
      exchange.end(side, sink);
      return ExchangeVerdict::kFine;
    });
  }

  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    if (!has_exchange(connection)) return;
    Writer writer(*this, connection, queries, out);
    known_exchange(connection).visit_pending(writer);
  }

  void on_release(Connection& connection) override {
    const uint32_t slot = this->template state_of<State>(connection).slot;
    if (slot == 0) return;
    Place& place = places_[slot - 1];
    memory_bytes_ -= place.exchange->memory_bytes();
    if (idle_.size() < kMaxIdleExchanges) {
      place.exchange->recycle();
      idle_.push_back(std::move(place.exchange));
    }
    place.exchange.reset();
    unlink(slot);
    free_.push_back(slot);
    this->template state_of<State>(connection).slot = 0;
  }

 protected:
  // Emits the tuples of a transaction, all with this header. `request` or `response` may be null, but not both.
  virtual void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                                Emitter& out) = 0;
  // Emits the tuple of a request that gets no response by design.
  virtual void emit_silent(const TupleHeader& header, const Request& request, const Response& /*later*/, Emitter& out) {
    emit_transaction(header, &request, nullptr, Seen::kRequest, out);
  }

  bool has_exchange(const Connection& connection) const { return this->template state_of<State>(connection).slot != 0; }

  // REQUIRES: has_exchange().
  Exchange& known_exchange(const Connection& connection) {
    return *places_[this->template state_of<State>(connection).slot - 1].exchange;
  }

  // Reports the requests that have waited too long. Must be called once per interval.
  void report_overdue(int64_t now_ns, Emitter& out) {
    while (first_due_ != 0 && places_[first_due_ - 1].due_ns <= now_ns) {
      const uint32_t slot = first_due_;
      Place& place = places_[slot - 1];
      unlink(slot);
      const int64_t before_ns = now_ns - kSilenceTimeoutNs;
      // While data arrive, a long request may just have ended or a long response may have begun.
      if (place.data_ns >= before_ns) {
        rescan(slot, now_ns);
        continue;
      }
      Writer writer(*this, *place.connection, place.connection->queries, out);
      if (place.exchange->report_overdue(before_ns, writer) != INT64_MAX) rescan(slot, now_ns);
    }
  }

  // Calls `use(exchange, sink)` with the connection's exchange, creating it if necessary, and accounts for its memory.
  template <typename Use>
  StreamVerdict with_exchange(Connection& connection, Emitter& out, Use use) {
    Exchange& exchange = *place_of(connection).exchange;
    const size_t previous_memory_bytes = exchange.memory_bytes();
    Writer writer(*this, connection, connection.queries, out);
    const ExchangeVerdict verdict = use(exchange, writer);
    memory_bytes_ += exchange.memory_bytes() - previous_memory_bytes;
    if (verdict != ExchangeVerdict::kFine || exchange.has_failed()) return expire(connection);
    rescan(this->template state_of<State>(connection).slot, out.now_ns());
    if (memory_bytes_ <= kMaxMemoryBytes) return StreamVerdict::kContinue;
    out.lose(LossReason::kParserMemoryFull, 1, connection.queries);
    exchange.visit_pending(writer);
    return expire(connection);
  }

 private:
  struct State {
    uint32_t slot;  // in places_, from 1; 0 = none yet
  };

  // A connection's exchange, and other state that may explain a missing response. Connections that may have waiting
  // requests are in a chain ordered by due_ns.
  struct Place {
    std::unique_ptr<Exchange> exchange = nullptr;
    Connection* connection = nullptr;
    int64_t data_ns = INT64_MIN;  // time of the latest bytes of either stream
    int64_t lost_ns = INT64_MIN;  // time at which the latest gap in either stream was found
    int64_t due_ns = 0;           // time to check the waiting requests; 0 = not in the chain
    uint32_t previous = 0, next = 0;
    bool closed = false;  // one side has ended its stream, or both were reset
  };
  // The interval between checks for waiting requests, by which reports may lag behind the timeout. At this rate, checks
  // cost almost nothing for any number of requests on a connection.
  static constexpr int64_t kLookEveryNs = kSilenceTimeoutNs / 4;

  // Turns a connection's transactions into tuples for some of its queries.
  class Writer final : public TransactionSink<Request, Response> {
   public:
    Writer(TransactionParser& parser, Connection& connection, uint64_t queries, Emitter& out)
        : parser_(parser), connection_(connection), queries_(queries), out_(out) {}

    void on_transaction(const Request* request, const Response* response) override {
      const bool was_reported = request != nullptr && request->reported;
      if (was_reported && response == nullptr) return;
      parser_.emit_transaction(header(), request, response, was_reported ? Seen::kLate : seen(request, response), out_);
    }
    void on_silence(const Request& request, const Response& response) override {
      parser_.emit_silent(header(), request, response, out_);
    }
    void on_client(Side side) override { claim_client(connection_, side); }
    void on_loss(LossReason reason) override { out_.lose(reason, 1, queries_); }

   private:
    Seen seen(const Request* request, const Response* response) const {
      if (request != nullptr && response != nullptr) return Seen::kBoth;
      if (request == nullptr) return Seen::kResponse;
      return parser_.is_unanswered(connection_, *request, out_.now_ns()) ? Seen::kUnanswered : Seen::kRequest;
    }

    TupleHeader header() const {
      TupleHeader header = out_.header_of(connection_);
      header.queries = queries_;
      return header;
    }

    TransactionParser& parser_;
    Connection& connection_;
    uint64_t queries_;
    Emitter& out_;
  };

  // Returns true if the whole request was seen and is not quiet, its connection was closed or its timeout has passed,
  // and no data that either side has sent since the request are known to be missing.
  bool is_unanswered(const Connection& connection, const Request& request, int64_t now_ns) const {
    const Place& place = places_[this->template state_of<State>(connection).slot - 1];
    const bool over = place.closed || now_ns - request.first_ns >= kSilenceTimeoutNs;
    if (!over || !request.complete || request.may_be_silent() || place.lost_ns >= request.first_ns) return false;
    return !connection.is_tcp() || (connection.heard == 3 && connection.missing == 0);
  }

  // Appends the slot to the chain, unless it is already in it.
  void rescan(uint32_t slot, int64_t now_ns) {
    Place& place = places_[slot - 1];
    if (place.due_ns != 0) return;
    place.due_ns = now_ns + kLookEveryNs;
    place.previous = last_due_;
    place.next = 0;
    (last_due_ == 0 ? first_due_ : places_[last_due_ - 1].next) = slot;
    last_due_ = slot;
  }

  void unlink(uint32_t slot) {
    Place& place = places_[slot - 1];
    if (std::exchange(place.due_ns, 0) == 0) return;
    (place.previous == 0 ? first_due_ : places_[place.previous - 1].next) = place.next;
    (place.next == 0 ? last_due_ : places_[place.next - 1].previous) = place.previous;
  }

  Place& place_of(Connection& connection) {
    uint32_t& slot = this->template state_of<State>(connection).slot;
    if (slot != 0) return places_[slot - 1];
    if (free_.empty()) {
      places_.emplace_back();
      free_.push_back(static_cast<uint32_t>(places_.size()));
    }
    slot = free_.back();
    free_.pop_back();
    if (idle_.empty()) idle_.push_back(std::make_unique<Exchange>());
    Place& place = places_[slot - 1];
    place = {.exchange = std::move(idle_.back()), .connection = &connection};
    idle_.pop_back();
    Exchange& exchange = *place.exchange;
    for (const Side side : {Side{0}, Side{1}}) {
      if (!begins_here(connection, side)) exchange.start_in_middle(side);
    }
    if constexpr (requires { exchange.set_client(Side{0}); }) {
      if (connection.client_known_by == ClientKnownBy::kHandshake) exchange.set_client(connection.client_side);
    }
    if constexpr (requires { exchange.suggest_client(Side{0}, false); }) {
      exchange.suggest_client(connection.client_side, connection.client_known_by == ClientKnownBy::kQuery);
    }
    memory_bytes_ += exchange.memory_bytes();
    return place;
  }

  // Returns true if the side's stream can be read from the first data seen. If a server's SYN/ACK is late or lost, the
  // server may have sent data before the first data seen, which matters if pairing is by order.
  static bool begins_here(const Connection& connection, Side side) {
    if (connection.start_known(side)) return true;
    constexpr bool kResponsesHaveNumbers = requires { Exchange::kResponsesHaveNumbers; };
    return kResponsesHaveNumbers && side != connection.client_side && connection.start_known(connection.client_side);
  }

  StreamVerdict expire(Connection& connection) {
    on_release(connection);
    return StreamVerdict::kGiveUp;
  }

  std::vector<Place> places_;
  uint32_t first_due_ = 0, last_due_ = 0;
  std::vector<uint32_t> free_;  // free slots
  std::vector<std::unique_ptr<Exchange>> idle_;
  size_t memory_bytes_ = 0;
};

}  // namespace tapline
