#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/api/parser.h"
#include "parsers/transactions/halves.h"
#include "parsers/transactions/touch.h"

namespace tapline {

// "" for a whole transaction, else which half was seen: the field `partial`.
inline std::string_view partial_of(const void* request, const void* response) {
  if (request != nullptr && response != nullptr) return "";
  return request != nullptr ? "request" : "response";
}

// From a request's first byte to a moment of its response, first_ns or last_ns; 0 where either is missing.
inline Value since_request(const BareRequestHalf* request, const ResponseHalf* response,
                           int64_t ResponseHalf::*moment_ns) {
  if (request == nullptr || response == nullptr) return Value::i64(0);
  return Value::i64(std::max<int64_t>(response->*moment_ns - request->first_ns, 0));
}

enum class ExchangeVerdict : uint8_t {
  kFine,
  kNotMine,  // the connection is of another protocol
  kOver,     // it went over to another protocol, or to encryption
};

// A parser of transactions. A protocol derives from it, says how a transaction becomes a tuple, and brings an Exchange,
// which reads both sides of one connection. Exchanges of ended connections serve the next ones, so that those allocate
// nothing; beyond kMaxMemoryBytes in all a connection is told of as it is and given up.
//
//   class Exchange {
//    public:
//     using Request = …; using Response = …;
//     void start_in_middle(Side);      // its first bytes were not captured
//     void set_client(Side);           // optional: the handshake told who asks
//     ExchangeVerdict data(Side, std::span<const uint8_t>, const Segment&, TransactionSink<Request, Response>&);
//     ExchangeVerdict gap(Side, uint64_t bytes, const Segment&, TransactionSink<Request, Response>&);
//                                      // anything but kFine: all has been told
//     void end(Side, TransactionSink<Request, Response>&);
//     void visit_pending(TransactionSink<Request, Response>&) const;  // changes nothing
//     bool hopeless() const;           // so much was looked at, and nothing of the protocol was in it
//     size_t memory_bytes() const;     // beyond the object itself
//     static constexpr size_t kMaxMemoryBytes;  // optional: of all exchanges together
//     void recycle();                  // as new, with little memory
//     void look_ahead() const;         // optional: touch()es what lies beyond the object and will be wanted soon
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

  Needs needs() const override { return {.packets = false, .streams = true, .connection_state_bytes = sizeof(State)}; }

  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& out) override {
    return with_exchange(connection, out, [&](Exchange& exchange, TransactionSink<Request, Response>& sink) {
      return exchange.data(side, bytes, segment, sink);
    });
  }

  void look_ahead(const Connection& connection, int step) const override {
    const uint32_t slot = this->template state_of<State>(connection).slot;
    if (slot == 0) return;
    const std::unique_ptr<Exchange>& exchange = exchanges_[slot - 1];
    if (step == 0) {
      touch(&exchange, sizeof exchange);
    } else if (step == 1) {
      touch(exchange.get(), sizeof(Exchange));
    } else if constexpr (requires { exchange->look_ahead(); }) {
      exchange->look_ahead();
    }
  }

  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment,
                       Emitter& out) override {
    return with_exchange(connection, out, [&](Exchange& exchange, TransactionSink<Request, Response>& sink) {
      return exchange.gap(side, bytes, segment, sink);
    });
  }

  void on_stream_end(Connection& connection, Side side, StreamEnd /*end*/, int64_t /*time_ns*/, Emitter& out) override {
    if (this->template state_of<State>(connection).slot == 0) return;
    with_exchange(connection, out, [&](Exchange& exchange, TransactionSink<Request, Response>& sink) {
      exchange.end(side, sink);
      return ExchangeVerdict::kFine;
    });
  }

  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    const uint32_t slot = this->template state_of<State>(connection).slot;
    if (slot == 0) return;
    Writer writer(*this, connection, queries, out);
    exchanges_[slot - 1]->visit_pending(writer);
  }

  void on_release(Connection& connection) override {
    const uint32_t slot = this->template state_of<State>(connection).slot;
    if (slot == 0) return;
    memory_bytes_ -= exchanges_[slot - 1]->memory_bytes();
    if (idle_.size() < kMaxIdleExchanges) {
      exchanges_[slot - 1]->recycle();
      idle_.push_back(std::move(exchanges_[slot - 1]));
    }
    exchanges_[slot - 1].reset();
    free_.push_back(slot);
    this->template state_of<State>(connection).slot = 0;
  }

 protected:
  // Emits the tuple of a transaction, one of whose halves may be null. Whatever it emits bears this header.
  virtual void tell(const TupleHeader& header, const Request* request, const Response* response, Emitter& out) = 0;
  // The same of a request that was answered by silence.
  virtual void tell_silence(const TupleHeader& header, const Request& request, const Response& /*later*/,
                            Emitter& out) {
    tell(header, &request, nullptr, out);
  }

  bool has_exchange(const Connection& connection) const { return this->template state_of<State>(connection).slot != 0; }

  // REQUIRES: has_exchange().
  Exchange& known_exchange(const Connection& connection) {
    return *exchanges_[this->template state_of<State>(connection).slot - 1];
  }

  // Calls `use(exchange, sink)` with the connection's exchange, made now if need be, and keeps account of its memory.
  template <typename Use>
  StreamVerdict with_exchange(Connection& connection, Emitter& out, Use use) {
    Exchange& exchange = exchange_of(connection);
    const size_t before = exchange.memory_bytes();
    Writer writer(*this, connection, connection.queries, out);
    const ExchangeVerdict verdict = use(exchange, writer);
    memory_bytes_ += exchange.memory_bytes() - before;
    if (verdict != ExchangeVerdict::kFine || exchange.hopeless()) return give_up(connection);
    if (memory_bytes_ <= kMaxMemoryBytes) return StreamVerdict::kContinue;
    out.lose(LossReason::kParserMemoryFull, 1, connection.queries);
    exchange.visit_pending(writer);
    return give_up(connection);
  }

 private:
  struct State {
    uint32_t slot;  // in exchanges_, from 1; 0 = none yet
  };

  // Turns transactions into tuples of a connection for some of its queries.
  class Writer final : public TransactionSink<Request, Response> {
   public:
    Writer(TransactionParser& parser, Connection& connection, uint64_t queries, Emitter& out)
        : parser_(parser), connection_(connection), queries_(queries), out_(out) {}

    void on_transaction(const Request* request, const Response* response) override {
      parser_.tell(header(), request, response, out_);
    }
    void on_silence(const Request& request, const Response& later) override {
      parser_.tell_silence(header(), request, later, out_);
    }
    void on_client(Side side) override { claim_client(connection_, side); }
    void on_loss(LossReason reason) override { out_.lose(reason, 1, queries_); }

   private:
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

  Exchange& exchange_of(Connection& connection) {
    uint32_t& slot = this->template state_of<State>(connection).slot;
    if (slot != 0) return *exchanges_[slot - 1];
    if (free_.empty()) {
      exchanges_.emplace_back();
      free_.push_back(static_cast<uint32_t>(exchanges_.size()));
    }
    slot = free_.back();
    free_.pop_back();
    if (idle_.empty()) idle_.push_back(std::make_unique<Exchange>());
    exchanges_[slot - 1] = std::move(idle_.back());
    idle_.pop_back();
    Exchange& exchange = *exchanges_[slot - 1];
    for (const Side side : {Side{0}, Side{1}}) {
      if ((connection.syn_seen >> side & 1) == 0) exchange.start_in_middle(side);
    }
    if constexpr (requires { exchange.set_client(Side{0}); }) {
      if (connection.client_known_by == ClientKnownBy::kHandshake) exchange.set_client(connection.client_side);
    }
    memory_bytes_ += exchange.memory_bytes();
    return exchange;
  }

  StreamVerdict give_up(Connection& connection) {
    on_release(connection);
    return StreamVerdict::kGiveUp;
  }

  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<uint32_t> free_;  // slots
  std::vector<std::unique_ptr<Exchange>> idle_;
  size_t memory_bytes_ = 0;
};

}  // namespace tapline
