// Determines packets' taps from marks: a switch that copies the packets of a queue puts a mark into the destination
// address of the copies (Queue.mark in schema/plan.proto).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "packet_io/base/tap.h"
#include "packet_io/source/packet_source.h"

namespace tapline {

// The taps of marked copies: a pair for each queue, arrivals first. Only one thread may bind pairs; any thread may
// read. A pair is never bound to another queue, because packets from its queue might still be in flight.
//
//   0 … configured taps … first() … pairs … unbound_tap()
class CopyMarks {
 public:
  static constexpr uint32_t kMaxQueues = 0x7fffff;

  // `first`, the first tap of the first pair, must be even.
  explicit CopyMarks(uint8_t first) : first_(first) {}

  // Binds a pair to the queue if none is bound yet. Returns the tap of the queue's arrivals (that of its departures is
  // the next one), or nullopt if all pairs are bound to other queues.
  std::optional<uint8_t> bind(uint32_t queue);
  // Returns the tap of a mark, which is the last three bytes of the address.
  uint8_t tap_of(uint32_t mark) const;

  uint8_t first() const { return first_; }
  // Returns the tap of unbound marks.
  static constexpr uint8_t unbound_tap() { return kMaxTaps - 1; }
  // Returns the maximum number of bound queues.
  size_t room() const { return (kMaxTaps - 2 - first_) / 2; }

 private:
  uint8_t first_;
  std::array<std::atomic<uint32_t>, kMaxTaps / 2> queues_ = {};  // 0: free
};

// Sets the taps of a source's marked packets. Other packets keep their taps, which must be below `marks->first()`.
class MarkedSource final : public PacketSource {
 public:
  // `marks` must outlive this object.
  MarkedSource(std::unique_ptr<PacketSource> source, const CopyMarks* marks)
      : source_(std::move(source)), marks_(marks) {}

  Status start() override { return source_->start(); }
  void stop() override { source_->stop(); }
  Burst poll(std::span<RawPacket> packets) override;
  Status status() const override { return source_->status(); }
  Losses read_losses() override { return source_->read_losses(); }
  // Lost packets are counted for the tap of their source, since their marks are unknown.
  Losses read_losses(uint8_t tap) override { return tap < marks_->first() ? source_->read_losses(tap) : Losses(); }
  uint64_t late_packets(uint8_t tap) const override { return tap < marks_->first() ? source_->late_packets(tap) : 0; }
  bool retains() const override { return source_->retains(); }
  void retain(void* buffer, uint16_t times) override { source_->retain(buffer, times); }
  void release(std::span<void* const> buffers) override { source_->release(buffers); }
  bool live() const override { return source_->live(); }
  bool polled_times() const override { return source_->polled_times(); }
  std::optional<int64_t> idle_time_ns() const override { return source_->idle_time_ns(); }
  std::optional<double> fraction() const override { return source_->fraction(); }

 private:
  std::unique_ptr<PacketSource> source_;
  const CopyMarks* marks_;
};

}  // namespace tapline
