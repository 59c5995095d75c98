// Takes encoded batches away: Kafka, or nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "packet_io/base/status.h"

namespace tapline {

// Told what became of batches, from within BatchSink's functions.
class DeliveryListener {
 public:
  virtual ~DeliveryListener() = default;
  virtual void OnDelivery(uint64_t ticket, bool delivered) = 0;
};

class BatchSink {
 public:
  enum class Sent : uint8_t {
    kTaken,    // the listener will hear of the ticket once
    kFull,     // no room: the batch is not taken
    kRefused,  // it never will be taken
  };

  virtual ~BatchSink() = default;
  // Within a bounded time. `listener` outlives the sink's use.
  virtual Status Start(DeliveryListener* listener) = 0;
  // Makes ready for the query's batches. After Start(), on any thread.
  virtual Status Prepare(uint32_t query) = 0;
  // For the query of that index. The bytes are copied.
  virtual Sent Send(uint32_t query, std::string_view batch, uint64_t ticket) = 0;
  // Share of the room for batches that is taken, 0 to 1.
  virtual double fill() const = 0;
  // Tells the listener what has become known.
  virtual void Poll() = 0;
  // Like Poll(), but waits for news up to a tenth of a second.
  virtual void Wait() = 0;
  // Waits until every batch taken was delivered or given up.
  virtual Status Flush() = 0;
  virtual Status status() const = 0;
};

// Takes everything at once: what encoding costs, without a broker.
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
