// Merges several live sources into one, which returns their packets in time order.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "packet_io/source/packet_source.h"

namespace tapline {

// A packet's tap is the index of its source. A packet is returned once every other source has a later packet waiting,
// or guarantees by idle_time_ns() that it will not return an earlier one. If a source breaks this guarantee, its late
// packets are returned as they arrive, and counted.
class MergedSource final : public PacketSource {
 public:
  // REQUIRES: there is at least one source; each has one tap and is live.
  explicit MergedSource(std::vector<std::unique_ptr<PacketSource>> sources);

  // Starts the sources. The first source is started first and stopped last.
  Status start() override;
  void stop() override;
  Burst poll(std::span<RawPacket> packets) override;
  Status status() const override;
  Losses read_losses() override;
  Losses read_losses(uint8_t tap) override { return inputs_[tap].source->read_losses(); }
  uint64_t late_packets(uint8_t tap) const override { return inputs_[tap].late + inputs_[tap].source->late_packets(0); }

  // All sources are of the same kind, so the buffers of one may be released to any other.
  bool retains() const override { return inputs_[0].source->retains(); }
  void retain(void* buffer, uint16_t times) override { inputs_[0].source->retain(buffer, times); }
  void release(std::span<void* const> buffers) override { inputs_[0].source->release(buffers); }
  bool live() const override { return inputs_[0].source->live(); }
  bool polled_times() const override;
  std::optional<int64_t> idle_time_ns() const override;

 private:
  struct Input {
    std::unique_ptr<PacketSource> source;
    // Polled packets. The next packet to return is packets[next] if next < count.
    std::array<RawPacket, kBurstPackets> packets;
    size_t next = 0;
    size_t count = 0;
    bool ended = false;
    uint64_t late = 0;

    bool has_packet() const { return next < count; }
    // Returns a lower bound on the times of all future packets, or INT64_MIN if it is unknown.
    int64_t reached_ns() const;
  };

  void poll_empty();
  Input* earliest();

  std::vector<Input> inputs_;
  int64_t latest_ns_ = INT64_MIN;
};

}  // namespace tapline
