// Hosts around one switch whose mirror port copies all packets to a collector, made of ns-3 nodes.
//
//   host n ── delay of its stack ──▶ switch: input n ──▶ port queue n' ──▶ host n'
//                                            └──copy──▶ mirror queue ──▶ collector
//
// All queues are PortQueues in one SharedBuffer. Copies and originals are admitted independently.
#pragma once

#include <ns3/node.h>
#include <ns3/point-to-point-net-device.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/mirroring/observation.h"
#include "sim/mirroring/port_queue.h"

namespace tapline::mirroring {

struct StarOptions {
  uint32_t hosts = 2;
  uint64_t bits_per_second = 10'000'000'000;  // speed of each port
  // Delay between an application's host and the switch, in either direction. Most of the delay occurs in the host's
  // network stack and NIC. Each host adds a delay of up to `jitter_ns`, because equal delays would synchronize flows.
  int64_t host_delay_ns = 45'000;
  int64_t jitter_ns = 15'000;
  int64_t collector_delay_ns = 5'000;
  uint64_t buffer_bytes = 9'000'000;  // Broadcom's Trident, according to the paper
  double alpha = 0.8;                 // one congested port takes 4 MB
  bool mirrored = true;
  Schedule schedule = Schedule::kRoundRobin;  // schedule of the mirror port
  uint64_t mirror_limit_bytes = PortQueue<int>::kNoLimit;
  uint32_t window_bytes = 1 << 20;  // maximum number of bytes that a sender has in flight
  bool hystart = true;              // CUBIC's HyStart ends slow start before the first loss
};

// The first flow's server port. Each further flow uses the next port.
inline constexpr uint16_t kFirstPort = 5000;

class SwitchQueue;

class Star {
 public:
  explicit Star(const StarOptions& options);
  ~Star();

  ns3::Ptr<ns3::Node> host(uint32_t n) const { return hosts_[n]; }
  static ns3::Ipv4Address address(uint32_t n) { return ns3::Ipv4Address((10u << 24) + 1 + n); }
  // Returns a copy's minimum delay, over idle links and through an empty queue, from its first bit on the sender's
  // link.
  int64_t path_ns() const;
  // Returns all observations. REQUIRES: the flows use consecutive ports from kFirstPort.
  Observation observation(uint32_t flows);

 private:
  void add_host(uint32_t n);
  void add_collector();
  ns3::Ptr<ns3::PointToPointNetDevice> link(ns3::Ptr<ns3::Node> node, ns3::Ptr<SwitchQueue> queue, int64_t delay_ns,
                                            ns3::Ptr<ns3::PointToPointNetDevice>* at_node);
  ns3::Ptr<SwitchQueue> make_queue(Schedule schedule, uint64_t limit_bytes);
  bool forward(uint32_t input, ns3::Ptr<const ns3::Packet> packet);
  void sent(ns3::Ptr<const ns3::Packet> packet);
  void received(ns3::Ptr<const ns3::Packet> packet);
  void collected(ns3::Ptr<const ns3::Packet> packet);

  StarOptions options_;
  SharedBuffer buffer_;
  ns3::Ptr<ns3::Node> switch_;
  std::vector<ns3::Ptr<ns3::Node>> hosts_;
  std::vector<ns3::Ptr<ns3::PointToPointNetDevice>> ports_;
  std::vector<ns3::Ptr<SwitchQueue>> queues_;
  ns3::Ptr<ns3::PointToPointNetDevice> mirror_port_;
  ns3::Ptr<SwitchQueue> mirror_queue_;
  Observation seen_;
  std::vector<uint64_t> sent_bytes_;  // by flow and direction
};

}  // namespace tapline::mirroring
