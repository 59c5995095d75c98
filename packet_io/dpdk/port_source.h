// One receive queue of a DPDK port as a packet source.
#pragma once

#include <array>
#include <memory>

#include "packet_io/dpdk/port.h"
#include "packet_io/source/packet_source.h"

namespace tapline {

// Packet time is when the kernel saw the packet, if that is known, otherwise when it was polled. The packets of a burst
// stay in DPDK's buffers until the next Poll(), or longer if they are retained. Queue 0 reports the port's losses.
class PortSource final : public PacketSource {
 public:
  PortSource(std::shared_ptr<Port> port, uint16_t queue) : port_(std::move(port)), queue_(queue) {}
  ~PortSource() override { FreeBurst(); }

  // Queue 0 starts and stops the port: it starts first and stops last.
  Status Start() override { return queue_ == 0 ? port_->Start() : Status(); }
  void Stop() override;
  Burst Poll(std::span<RawPacket> packets) override;
  Status status() const override { return {}; }
  Losses ReadLosses() override { return queue_ == 0 ? port_->ReadLosses() : Losses(); }
  bool live() const override { return true; }
  std::optional<int64_t> IdleTimeNs() const override;
  bool retains() const override { return true; }
  void Retain(void* buffer, uint16_t times) override;
  void Release(std::span<void* const> buffers) override;

 private:
  void Begin();
  void FreeBurst();
  int64_t NoEarlier(int64_t came_ns);

  std::shared_ptr<Port> port_;
  uint16_t queue_;
  bool begun_ = false;
  std::optional<ArrivalTimes> times_;
  std::array<rte_mbuf*, kBurstPackets> mbufs_ = {};
  uint16_t held_ = 0;
  int64_t polled_at_ns_ = 0;
  int64_t told_ns_ = 0;
};

}  // namespace tapline
