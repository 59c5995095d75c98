// One receive queue of a DPDK port, as a packet source.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "packet_io/dpdk/port.h"
#include "packet_io/source/packet_source.h"

namespace tapline {

// Packet time is the time at which the kernel received the packet, if that is known, otherwise the time of the poll.
// The packets of a burst stay in DPDK's buffers until the next poll(), or longer if they are retained. Queue 0 reports
// the port's losses.
//
// Packets are expected to be polled at most `bound_ns` after their time, so idle_time_ns() is the time of the last poll
// minus this bound. A packet whose time is before one already reported is late, and gets that one instead.
class PortSource final : public PacketSource {
 public:
  // The kernel timestamps a packet some microseconds before a poll can return it, or more if it is interrupted.
  static constexpr int64_t kUsualBoundNs = 200'000;

  PortSource(std::shared_ptr<Port> port, uint16_t queue, int64_t bound_ns = kUsualBoundNs)
      : port_(std::move(port)), queue_(queue), bound_ns_(bound_ns) {}
  ~PortSource() override { free_burst(); }

  // Queue 0 starts and stops the port, so it must be started first and stopped last.
  Status start() override { return queue_ == 0 ? port_->start() : Status(); }
  void stop() override;
  Burst poll(std::span<RawPacket> packets) override;
  Status status() const override { return {}; }
  using PacketSource::read_losses;
  uint64_t late_packets(uint8_t /*tap*/) const override { return late_; }
  Losses read_losses() override { return queue_ == 0 ? port_->read_losses() : Losses(); }
  bool live() const override { return true; }
  bool polled_times() const override { return !port_->times(queue_); }
  std::optional<int64_t> idle_time_ns() const override;
  bool retains() const override { return true; }
  void retain(void* buffer, uint16_t times) override;
  void release(std::span<void* const> buffers) override;

 private:
  void begin();
  void free_burst();
  int64_t no_earlier(int64_t arrival_ns);

  std::shared_ptr<Port> port_;
  uint16_t queue_;
  int64_t bound_ns_;
  bool begun_ = false;
  std::optional<ArrivalTimes> times_;
  std::array<rte_mbuf*, kBurstPackets> mbufs_ = {};
  uint16_t mbuf_count_ = 0;
  int64_t polled_at_ns_ = 0;
  int64_t sent_time_ns_ = 0;
  uint64_t late_ = 0;
};

// Returns a MergedSource that reads the first queue of each interface. A packet's tap is the index of its interface.
// `options` apply to every port.
std::unique_ptr<PacketSource> merge_interfaces(PortOptions options, const std::vector<std::string>& interfaces,
                                               int64_t bound_ns);

}  // namespace tapline
