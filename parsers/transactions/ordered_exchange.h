#pragma once

#include <cstdint>
#include <span>

#include "parsers/transactions/ordered_pairing.h"
#include "parsers/transactions/transaction_parser.h"
#include "parsers/transactions/unit_reader.h"

namespace tapline {

// Base class of an Exchange whose protocol is recognised by its bytes alone, on any port, and sends responses in order.
// Contains a UnitReader for each side, the pairing, and the recognition of the protocol. Until the bytes are recognised
// for certain, only whole transactions are reported, which imply that both sides were recognised.
//
// Derived is the protocol's Exchange. It has the UnitReader's on_unit, on_skipped, may_resume and on_hidden, and calls
// recognise() for each unit that it takes. If it hides functions of this class, it must call them.
template <typename Derived, typename RequestType, typename ResponseType, size_t kMaxPendingRequests>
class OrderedExchange {
 public:
  using Request = RequestType;
  using Response = ResponseType;
  using Sink = TransactionSink<Request, Response>;
  static constexpr size_t kMaxPending = kMaxPendingRequests;
  // A connection that was joined in the middle is taken to use another protocol if no unit of this one is recognised
  // for certain within this many bytes of its two streams together.
  static constexpr uint64_t kMaxSeekBytes = 1 << 20;

  void start_in_middle(Side side) {
    readers_[side].start_in_middle();
    middle_[side] = true;
  }

  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
    Filter filter(*this, sink);
    sink_ = &filter;
    if (readers_[side].read(bytes, segment, derived()) == UnitReader::Verdict::kNotMine) {
      return ExchangeVerdict::kNotMine;
    }
    settle(side);
    if (!over_) return ExchangeVerdict::kFine;
    pairing_.report_all(filter);
    return ExchangeVerdict::kOver;
  }

  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
    Filter filter(*this, sink);
    sink_ = &filter;
    readers_[side].gap(bytes, segment, derived());
    settle(side);
    return ExchangeVerdict::kFine;
  }

  void end(Side side, Sink& sink) {
    Filter filter(*this, sink);
    sink_ = &filter;
    ended_[side] = true;
    if (ended_[0] && ended_[1]) return pairing_.report_all(filter);
    if (client_ >= 0 && side != client_) pairing_.server_ended(filter);
  }

  void visit_pending(Sink& sink) const {
    Filter filter(*this, sink);
    pairing_.visit_pending(filter);
  }

  int64_t report_overdue(int64_t before_ns, Sink& sink) {
    return confirmed_ ? pairing_.report_overdue(before_ns, sink) : INT64_MAX;
  }

  bool has_failed() const { return !confirmed_ && readers_[0].seek_bytes() + readers_[1].seek_bytes() > kMaxSeekBytes; }

  size_t memory_bytes() const {
    return pairing_.memory_bytes() + readers_[0].memory_bytes() + readers_[1].memory_bytes();
  }

  void recycle() {
    pairing_.recycle();
    for (const Side side : {Side{0}, Side{1}}) {
      readers_[side].recycle();
      units_[side] = 0;
      middle_[side] = ended_[side] = false;
    }
    client_ = -1;
    confirmed_ = over_ = false;
  }

  // Called by UnitReader.
  Unit on_cut(Side /*side*/, std::string_view /*bytes*/, const Segment& /*first*/, bool /*in_packet*/) {
    return Unit::none();
  }
  void on_too_long(Side /*side*/) { sink_->on_loss(LossReason::kHeadTooLong); }

 protected:
  // Forwards only transactions that are certain to be of this protocol.
  class Filter final : public Sink {
   public:
    Filter(const OrderedExchange& exchange, Sink& sink) : exchange_(exchange), sink_(sink) {}
    void on_transaction(const Request* request, const Response* response) override {
      if (exchange_.confirmed_ || (request != nullptr && response != nullptr)) sink_.on_transaction(request, response);
    }
    void on_silence(const Request& request, const Response& response) override { sink_.on_silence(request, response); }
    void on_client(Side side) override { sink_.on_client(side); }
    void on_loss(LossReason reason) override { sink_.on_loss(reason); }

   private:
    const OrderedExchange& exchange_;
    Sink& sink_;
  };

  // Sets the client, once it is known.
  void take_client(Side side) {
    client_ = side;
    if (middle_[side]) pairing_.hide_requests();
    if (middle_[other_side(side)]) pairing_.hide_responses();
  }

  // Records that a unit of the protocol was seen. `certain` is true if no other protocol has such a unit at a stream's
  // beginning; `rowed` is true if no other protocol has three such units in a row anywhere.
  void recognise(Side asking, Side speaking, bool certain, bool rowed) {
    if (client_ < 0) {
      take_client(asking);
      sink_->on_client(asking);
    }
    ++units_[speaking];
    if (confirmed_) return;
    const bool has_both = units_[0] > 0 && units_[1] > 0;
    confirmed_ = has_both || (certain && !middle_[speaking]) || (rowed && units_[speaking] >= kCertainUnits);
  }

  // Records that the reader is out of step. on_hidden() must call this first.
  void lose_step(Side side) {
    middle_[side] = true;
    if (!confirmed_) units_[side] = 0;
  }

  // Returns the offset before which all requests were passed to the pairing.
  uint64_t settled_offset() const { return readers_[client_].settled_offset(); }

  UnitReader readers_[2] = {UnitReader(0), UnitReader(1)};
  OrderedPairing<Request, Response, kMaxPending> pairing_;
  Sink* sink_ = nullptr;             // set during a call
  int client_ = -1;                  // side, once known
  uint32_t units_[2] = {0, 0};       // number of consecutive units
  bool middle_[2] = {false, false};  // joined after the stream's beginning
  bool ended_[2] = {false, false};
  bool confirmed_ = false;
  bool over_ = false;  // all later data belong to another protocol, or are no longer responses

 private:
  static constexpr uint32_t kCertainUnits = 3;

  Derived& derived() { return static_cast<Derived&>(*this); }
  void settle(Side side) {
    if (side == client_) pairing_.requests_settled(derived().settled_offset(), *sink_);
  }
};

}  // namespace tapline
