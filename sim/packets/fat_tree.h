// A fat tree of k-port switches (Al-Fares et al., SIGCOMM 2008) made of ns-3 nodes, whose switches note themselves in
// every packet.
//
//   host h: pod h/(k²/4), address 10.pod.edge.2+port       k = 4: 16 hosts, 20 switches
//   switch IDs: edge 100+n, aggregation 200+n, core 300+n   n counts pod by pod
//
// A packet goes up by what its destination says, so that all flows to a host come down the same way.
#pragma once

#include <ns3/node-container.h>
#include <ns3/point-to-point-net-device.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/packets/tree_routing.h"

namespace tapline::packets {

struct TreeOptions {
  uint32_t k = 4;
  uint64_t link_bits_per_second = 100'000'000;
  uint64_t delay_ns = 5'000;
  // Hosts' links have up to so much more, each by chance: equal ones would keep flows in step as no network does.
  uint64_t host_jitter_ns = 20'000;
  // Edge switches take up to so long for a packet, each by chance. Without, what acknowledgements set the pace of stays
  // in step with the queue for ever, and finds it full each time.
  uint64_t processing_ns = 0;
  // Drop-tail, of each port of a switch; by_priority: of each class of service.
  uint32_t queue_packets = 64;
  bool by_priority = false;
  // All go up by the first port, as if hashing were broken.
  bool one_way_up = false;
};

class FatTree {
 public:
  // Of a packet that a switch has no room for, with its IPv4 header in front or told beside it.
  using OnDrop = std::function<void(uint32_t switch_id, ns3::Ptr<const ns3::Packet>)>;

  FatTree(const TreeOptions& options, OnDrop on_drop);

  uint32_t hosts() const { return k_ * k_ * k_ / 4; }
  ns3::Ptr<ns3::Node> host(uint32_t h) const { return hosts_[h]; }
  ns3::Ipv4Address address(uint32_t h) const;
  // By name.
  uint32_t edge_of(uint32_t h) const { return 100 + h / half_; }
  uint32_t aggregation(uint32_t pod, uint32_t n) const { return 200 + pod * half_ + n; }

  // That share of packets from hosts below this edge switch to the host goes up by the other aggregation switch.
  void Detour(uint32_t edge_switch, uint32_t to_host, uint32_t aggregation_port, double share);
  // Asks for each packet that a switch gets whether it loses it.
  void Lose(uint32_t switch_id, std::function<bool(ns3::Ptr<ns3::Packet>)> loses);

 private:
  struct Switch {
    uint32_t id;
    ns3::Ptr<ns3::Node> node;
    ns3::Ptr<TreeRouting> routing;
    std::vector<uint32_t> up, down;  // interfaces
  };

  Switch MakeSwitch(uint32_t id);
  ns3::Ptr<TreeRouting> InstallStack(ns3::Ptr<ns3::Node> node);
  // Interfaces at both ends.
  std::pair<uint32_t, uint32_t> Link(ns3::Ptr<ns3::Node> low, ns3::Ptr<ns3::Node> high, ns3::Ipv4Address low_address);
  uint32_t AddInterface(ns3::Ptr<ns3::Node> node, ns3::Ptr<ns3::NetDevice> device, ns3::Ipv4Address address);
  void LimitPort(Switch* at, uint32_t interface);
  void Route();
  void Note(Switch* at);

  ns3::Ptr<ns3::UniformRandomVariable> random_ = ns3::CreateObject<ns3::UniformRandomVariable>();
  uint32_t k_, half_;
  TreeOptions options_;
  OnDrop on_drop_;
  std::vector<ns3::Ptr<ns3::Node>> hosts_;
  std::vector<ns3::Ptr<TreeRouting>> host_routing_;
  std::vector<Switch> edges_, aggregations_, cores_;
  uint32_t links_ = 0;
};

}  // namespace tapline::packets
