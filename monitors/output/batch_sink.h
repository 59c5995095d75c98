// Delivers encoded batches to Kafka, or discards them.
#pragma once

#include <cstdint>
#include <string_view>

#include "packet_io/base/status.h"

namespace tapline {

// Receives the outcome of each batch, from within BatchSink's functions.
class DeliveryListener {
 public:
  virtual ~DeliveryListener() = default;
  virtual void on_delivery(uint64_t ticket, bool delivered) = 0;
};

class BatchSink {
 public:
  enum class Sent : uint8_t {
    kTaken,    // accepted; the listener will be called once for the ticket
    kFull,     // not accepted, since there is no room
    kRefused,  // not accepted, and never can be
  };

  virtual ~BatchSink() = default;
  // Starts the sink within a bounded time. `listener` must outlive the use of the sink.
  virtual Status start(DeliveryListener* listener) = 0;
  // Prepares for the query's batches. May be called on any thread after start().
  virtual Status prepare(uint32_t query) = 0;
  // Sends a batch of the query with this index. Copies the bytes.
  virtual Sent send(uint32_t query, std::string_view batch, uint64_t ticket) = 0;
  // Returns the used share of the room for batches, 0 to 1.
  virtual double fill() const = 0;
  // Calls the listener with the outcomes known so far.
  virtual void poll() = 0;
  // Like poll(), but waits up to a tenth of a second for outcomes.
  virtual void wait() = 0;
  // Waits until every accepted batch has been delivered or has failed.
  virtual Status flush() = 0;
  virtual Status status() const = 0;
};

// Accepts every batch immediately, to measure the cost of encoding without a broker.
class NullSink : public BatchSink {
 public:
  Status start(DeliveryListener* listener) override {
    listener_ = listener;
    return {};
  }
  Status prepare(uint32_t) override { return {}; }
  Sent send(uint32_t, std::string_view, uint64_t ticket) override {
    listener_->on_delivery(ticket, true);
    return Sent::kTaken;
  }
  double fill() const override { return 0; }
  void poll() override {}
  void wait() override {}
  Status flush() override { return {}; }
  Status status() const override { return {}; }

 private:
  DeliveryListener* listener_ = nullptr;
};

}  // namespace tapline
