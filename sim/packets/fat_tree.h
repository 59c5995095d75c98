// A fat tree of k-port switches (Al-Fares et al., SIGCOMM 2008) made of ns-3 nodes, whose switches record themselves in
// every packet.
//
//   host h: pod h/(k²/4), address 10.pod.edge.2+port       k = 4: 16 hosts, 20 switches
//   switch IDs: edge 100+n, aggregation 200+n, core 300+n   n counts pod by pod
//
// The destination determines a packet's path upwards, so all flows to a host come down the same path.
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
  // Each host's link has a random additional delay of up to this length. Equal delays would synchronize flows, which
  // does not happen in real networks.
  uint64_t host_jitter_ns = 20'000;
  // Edge switches process each packet for a random time of up to this length. Without this, flows paced by
  // acknowledgements would stay in step with the queue indefinitely, and always find it full.
  uint64_t processing_ns = 0;
  // The length of the drop-tail queue of each switch port or, with by_priority, of each of the port's classes of
  // service.
  uint32_t queue_packets = 64;
  bool by_priority = false;
  // If true, packets always go up through the first port, as if hashing were broken.
  bool one_way_up = false;
  // If true, sending a packet takes as long as sending its Ethernet frame, without FCS and preamble. Otherwise, it
  // takes as long as sending ns-3's shorter PPP frame.
  bool ethernet_framing = false;
};

class FatTree {
 public:
  // Called for each packet that a switch drops. The packet begins with its IPv4 header.
  using OnDrop = std::function<void(uint32_t switch_id, ns3::Ptr<const ns3::Packet>)>;

  FatTree(const TreeOptions& options, OnDrop on_drop);

  uint32_t hosts() const { return k_ * k_ * k_ / 4; }
  ns3::Ptr<ns3::Node> host(uint32_t h) const { return hosts_[h]; }
  ns3::Ipv4Address address(uint32_t h) const;
  // These functions return the IDs of switches.
  uint32_t edge_of(uint32_t h) const { return 100 + h / half_; }
  uint32_t aggregation(uint32_t pod, uint32_t n) const { return 200 + pod * half_ + n; }

  // Diverts this fraction of the packets from hosts below `edge_switch` to `to_host` through the edge switch's uplink
  // with the index `aggregation_port`.
  void detour(uint32_t edge_switch, uint32_t to_host, uint32_t aggregation_port, double share);
  // Calls `loses` for each packet that the switch receives, and drops the packet if the result is true.
  void lose(uint32_t switch_id, std::function<bool(ns3::Ptr<ns3::Packet>)> loses);

 private:
  struct Switch {
    uint32_t id;
    ns3::Ptr<ns3::Node> node;
    ns3::Ptr<TreeRouting> routing;
    std::vector<uint32_t> up, down;  // interface numbers
  };

  Switch make_switch(uint32_t id);
  ns3::Ptr<TreeRouting> install_stack(ns3::Ptr<ns3::Node> node);
  // Connects two nodes with a link. Returns the interface numbers at both ends.
  std::pair<uint32_t, uint32_t> link(ns3::Ptr<ns3::Node> low, ns3::Ptr<ns3::Node> high, ns3::Ipv4Address low_address);
  uint32_t add_interface(ns3::Ptr<ns3::Node> node, ns3::Ptr<ns3::NetDevice> device, ns3::Ipv4Address address);
  void limit_port(Switch* switch_node, uint32_t interface);
  void route();
  void note(Switch* switch_node);

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
