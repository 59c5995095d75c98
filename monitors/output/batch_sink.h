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
  virtual void OnDelivery(uint64_t ticket, bool delivered) = 0;
};

class BatchSink {
 public:
  enum class Sent : uint8_t {
    kTaken,    // the listener will be called once for the ticket
    kFull,     // no room: the batch is not taken
    kRefused,  // the batch can never be taken
  };

  virtual ~BatchSink() = default;
  // Returns within a bounded time. `listener` outlives the sink's use.
  virtual Status Start(DeliveryListener* listener) = 0;
  // Prepares for the query's batches. Any thread, after Start().
  virtual Status Prepare(uint32_t query) = 0;
  // Sends a batch of the query with that index. Copies the bytes.
  virtual Sent Send(uint32_t query, std::string_view batch, uint64_t ticket) = 0;
  // Share of the room for batches that is in use, 0 to 1.
  virtual double fill() const = 0;
  // Calls the listener with the outcomes known so far.
  virtual void Poll() = 0;
  // Like Poll(), but waits for outcomes up to a tenth of a second.
  virtual void Wait() = 0;
  // Waits until every batch taken has been delivered or given up.
  virtual Status Flush() = 0;
  virtual Status status() const = 0;
};

// Takes every batch at once, to measure the cost of encoding without a broker.
class NullSink final : public BatchSink {
 public:
  Status Start(DeliveryListener* listener) override {
    listener_ = listener;
    return {};
  }
  Status Prepare(uint32_t) override { return {}; }
  Sent Send(uint32_t, std::string_view, uint64_t ticket) override {
    listener_->OnDelivery(ticket, true);
    return Sent::kTaken;
  }
  double fill() const override { return 0; }
  void Poll() override {}
  void Wait() override {}
  Status Flush() override { return {}; }
  Status status() const override { return {}; }

 private:
  DeliveryListener* listener_ = nullptr;
};

}  // namespace tapline
