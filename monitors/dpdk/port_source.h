// A DPDK port as a packet source: a network interface through net_af_packet, any virtual device, or a bound NIC.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "monitors/source/packet_source.h"

namespace tapline {

struct PortSourceOptions {
  // One of the three.
  std::string interface;
  std::string vdev;
  std::string pci_address;
  bool may_use_hugepages = true;
  uint32_t memory_mib = 256;
  std::function<void(const std::string&)> warn;
};

// Reads queue 0 of the port. Packet time is the wall clock when the packet was polled, since net_af_packet gives none.
// The packets of a burst stay in DPDK's buffers until the next Poll().
class PortSource final : public PacketSource {
 public:
  explicit PortSource(PortSourceOptions options);
  ~PortSource() override;

  // Starts DPDK: once per process.
  Status Start() override;
  void Stop() override;
  Burst Poll(std::span<RawPacket> packets) override;
  Status status() const override { return {}; }
  Losses ReadLosses() override;
  bool live() const override { return true; }
  std::optional<int64_t> IdleTimeNs() const override;

 private:
  class Port;
  PortSourceOptions options_;
  std::unique_ptr<Port> port_;
};

}  // namespace tapline
