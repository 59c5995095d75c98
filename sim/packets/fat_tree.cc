#include "sim/packets/fat_tree.h"

#include <ns3/core-module.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/error-model.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-l3-protocol.h>
#include <ns3/ipv4-queue-disc-item.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/ppp-header.h>
#include <ns3/socket.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/traffic-control-layer.h>

#include "sim/packets/telemetry_tag.h"

namespace tapline::packets {
namespace {

constexpr uint32_t kHostQueuePackets = 10'000;

uint64_t NowNs() { return static_cast<uint64_t>(ns3::Simulator::Now().GetNanoSeconds()); }

void Receive(ns3::Ptr<const ns3::Packet> packet, uint32_t interface) {
  TelemetryTag tag;
  const auto mutable_packet = ns3::ConstCast<ns3::Packet>(packet);
  if (!mutable_packet->RemovePacketTag(tag)) return;
  tag.ingress_port = static_cast<uint16_t>(interface);
  mutable_packet->AddPacketTag(tag);
}

// Returns the class of service in which PrioQueueDisc queues the packet.
uint8_t ClassOf(const ns3::Ipv4Header& header) {
  constexpr uint8_t kOfPriority[16] = {1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  return kOfPriority[ns3::Socket::IpTos2Priority(header.GetTos()) & 15];
}

uint32_t PacketsAt(ns3::Ptr<ns3::NetDevice> device) {
  const auto port = ns3::DynamicCast<ns3::PointToPointNetDevice>(device);
  const auto control = device->GetNode()->GetObject<ns3::TrafficControlLayer>();
  const auto disc = control == nullptr ? nullptr : control->GetRootQueueDiscOnDevice(device);
  return port->GetQueue()->GetNPackets() + (disc == nullptr ? 0 : disc->GetNPackets());
}

// Adds the switch's record; Leave() sets the time at which the switch sends the packet on.
void Enter(ns3::Ptr<const ns3::Packet> packet, HopRecord record) {
  TelemetryTag tag;
  const auto mutable_packet = ns3::ConstCast<ns3::Packet>(packet);
  mutable_packet->RemovePacketTag(tag);
  record.ingress_port = tag.ingress_port;
  tag.hops.push_back(record);
  mutable_packet->AddPacketTag(tag);
}

void Leave(ns3::Ptr<const ns3::Packet> packet) {
  TelemetryTag tag;
  const auto mutable_packet = ns3::ConstCast<ns3::Packet>(packet);
  if (!mutable_packet->RemovePacketTag(tag)) return;
  tag.hops.back().left_ns = NowNs();
  mutable_packet->AddPacketTag(tag);
}

class Fault final : public ns3::ErrorModel {
 public:
  explicit Fault(std::function<bool(ns3::Ptr<ns3::Packet>)> loses) : loses_(std::move(loses)) {}

 private:
  bool DoCorrupt(ns3::Ptr<ns3::Packet> packet) override { return loses_(packet); }
  void DoReset() override {}
  std::function<bool(ns3::Ptr<ns3::Packet>)> loses_;
};

}  // namespace

FatTree::FatTree(const TreeOptions& options, OnDrop on_drop)
    : k_(options.k), half_(options.k / 2), options_(options), on_drop_(std::move(on_drop)) {
  for (uint32_t n = 0; n < k_ * half_; ++n) edges_.push_back(make_switch(100 + n));
  for (uint32_t n = 0; n < k_ * half_; ++n) aggregations_.push_back(make_switch(200 + n));
  for (uint32_t n = 0; n < half_ * half_; ++n) cores_.push_back(make_switch(300 + n));
  for (uint32_t h = 0; h < hosts(); ++h) {
    hosts_.push_back(ns3::CreateObject<ns3::Node>());
    host_routing_.push_back(install_stack(hosts_[h]));
    Switch& edge = edges_[h / half_];
    edge.down.push_back(link(hosts_[h], edge.node, address(h)).second);
  }
  for (uint32_t pod = 0; pod < k_; ++pod) {
    for (uint32_t e = 0; e < half_; ++e) {
      for (uint32_t a = 0; a < half_; ++a) {
        Switch &low = edges_[pod * half_ + e], &high = aggregations_[pod * half_ + a];
        const auto [up, down] = link(low.node, high.node, {});
        low.up.push_back(up), high.down.push_back(down);
      }
    }
  }
  for (uint32_t pod = 0; pod < k_; ++pod) {
    for (uint32_t c = 0; c < half_ * half_; ++c) {
      Switch &low = aggregations_[pod * half_ + c / half_], &high = cores_[c];
      const auto [up, down] = link(low.node, high.node, {});
      low.up.push_back(up), high.down.push_back(down);
    }
  }
  for (auto* level : {&edges_, &aggregations_, &cores_}) {
    for (Switch& sw : *level) {
      for (const uint32_t interface : sw.up) limit_port(&sw, interface);
      for (const uint32_t interface : sw.down) limit_port(&sw, interface);
      note(&sw);
    }
  }
  route();
  if (options.processing_ns == 0) return;
  for (Switch& edge : edges_) edge.routing->set_processing(options.processing_ns);
}

ns3::Ipv4Address FatTree::address(uint32_t h) const {
  const uint32_t edge = h / half_, pod = edge / half_;
  return ns3::Ipv4Address(10u << 24 | pod << 16 | edge % half_ << 8 | (2 + h % half_));
}

FatTree::Switch FatTree::make_switch(uint32_t id) {
  Switch made_switch{id, ns3::CreateObject<ns3::Node>(), nullptr, {}, {}};
  made_switch.routing = install_stack(made_switch.node);
  return made_switch;
}

ns3::Ptr<TreeRouting> FatTree::install_stack(ns3::Ptr<ns3::Node> node) {
  ns3::InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  stack.Install(node);
  auto routing = ns3::CreateObject<TreeRouting>();
  node->GetObject<ns3::Ipv4>()->SetRoutingProtocol(routing);
  return routing;
}

std::pair<uint32_t, uint32_t> FatTree::link(ns3::Ptr<ns3::Node> low, ns3::Ptr<ns3::Node> high,
                                            ns3::Ipv4Address low_address) {
  ns3::PointToPointHelper helper;
  helper.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(options_.link_bits_per_second)));
  if (options_.ethernet_framing) {
    // PPP's 2-byte header is 12 bytes shorter than Ethernet's.
    const uint64_t gap_ns = 12ull * 8 * 1'000'000'000 / options_.link_bits_per_second;
    helper.SetDeviceAttribute("InterframeGap", ns3::TimeValue(ns3::NanoSeconds(gap_ns)));
  }
  const bool is_host = low_address.IsInitialized();
  const double more_ns = is_host ? random_->GetValue(0, static_cast<double>(options_.host_jitter_ns)) : 0;
  helper.SetChannelAttribute("Delay",
                             ns3::TimeValue(ns3::NanoSeconds(options_.delay_ns + static_cast<uint64_t>(more_ns))));
  helper.SetQueue("ns3::DropTailQueue", "MaxSize",
                  ns3::QueueSizeValue(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, kHostQueuePackets)));
  // With flow control, the layer above would drop the packets for which the queue has no room.
  if (!options_.by_priority) helper.DisableFlowControl();
  const ns3::NetDeviceContainer ends = helper.Install(low, high);
  const uint32_t network = 172u << 24 | 16u << 16 | links_++ << 2;
  const uint32_t at_low = add_interface(low, ends.Get(0), is_host ? low_address : ns3::Ipv4Address(network + 1));
  return {at_low, add_interface(high, ends.Get(1), ns3::Ipv4Address(network + 2))};
}

uint32_t FatTree::add_interface(ns3::Ptr<ns3::Node> node, ns3::Ptr<ns3::NetDevice> device, ns3::Ipv4Address address) {
  const auto ipv4 = node->GetObject<ns3::Ipv4>();
  const uint32_t interface = ipv4->AddInterface(device);
  ipv4->AddAddress(interface, ns3::Ipv4InterfaceAddress(address, ns3::Ipv4Mask("255.255.255.252")));
  ipv4->SetUp(interface);
  return interface;
}

void FatTree::limit_port(Switch* switch_node, uint32_t interface) {
  const auto device =
      ns3::DynamicCast<ns3::PointToPointNetDevice>(switch_node->node->GetObject<ns3::Ipv4>()->GetNetDevice(interface));
  const ns3::QueueSize max_size(ns3::QueueSizeUnit::PACKETS, options_.queue_packets);
  const uint32_t id = switch_node->id;
  if (!options_.by_priority) {
    device->GetQueue()->SetMaxSize(max_size);
    device->GetQueue()->TraceConnectWithoutContext(
        "Drop", ns3::Callback<void, ns3::Ptr<const ns3::Packet>>([this, id](ns3::Ptr<const ns3::Packet> packet) {
          const auto bare = packet->Copy();
          ns3::PppHeader ppp;
          bare->RemoveHeader(ppp);
          on_drop_(id, bare);
        }));
    return;
  }
  device->GetQueue()->SetMaxSize(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, 1));
  ns3::TrafficControlHelper helper;
  const uint16_t root = helper.SetRootQueueDisc("ns3::PrioQueueDisc");
  const auto classes = helper.AddQueueDiscClasses(root, 3, "ns3::QueueDiscClass");
  helper.AddChildQueueDiscs(root, classes, "ns3::FifoQueueDisc", "MaxSize", ns3::QueueSizeValue(max_size));
  const auto disc = helper.Install(device).Get(0);
  disc->TraceConnectWithoutContext(
      "Drop",
      ns3::Callback<void, ns3::Ptr<const ns3::QueueDiscItem>>([this, id](ns3::Ptr<const ns3::QueueDiscItem> item) {
        const auto whole = item->GetPacket()->Copy();
        whole->AddHeader(ns3::DynamicCast<const ns3::Ipv4QueueDiscItem>(item)->GetHeader());
        on_drop_(id, whole);
      }));
}

void FatTree::note(Switch* switch_node) {
  const auto ipv4 = switch_node->node->GetObject<ns3::Ipv4L3Protocol>();
  ipv4->TraceConnectWithoutContext("Rx",
                                   ns3::Callback<void, ns3::Ptr<const ns3::Packet>, ns3::Ptr<ns3::Ipv4>, uint32_t>(
                                       [](ns3::Ptr<const ns3::Packet> packet, ns3::Ptr<ns3::Ipv4>, uint32_t interface) {
                                         Receive(packet, interface);
                                       }));
  ipv4->TraceConnectWithoutContext(
      "UnicastForward", ns3::Callback<void, const ns3::Ipv4Header&, ns3::Ptr<const ns3::Packet>, uint32_t>(
                            [this, id = switch_node->id, node = switch_node->node](
                                const ns3::Ipv4Header& header, ns3::Ptr<const ns3::Packet> packet, uint32_t interface) {
                              HopRecord record;
                              record.switch_id = id;
                              record.egress_port = static_cast<uint16_t>(interface);
                              record.queue_id = options_.by_priority ? ClassOf(header) : 0;
                              record.queue_packets = PacketsAt(node->GetObject<ns3::Ipv4>()->GetNetDevice(interface));
                              record.entered_ns = NowNs();
                              Enter(packet, record);
                            }));
  for (uint32_t i = 0; i < switch_node->node->GetNDevices(); ++i) {
    switch_node->node->GetDevice(i)->TraceConnectWithoutContext(
        "PhyTxBegin", ns3::Callback<void, ns3::Ptr<const ns3::Packet>>(&Leave));
  }
}

void FatTree::route() {
  const uint32_t per_pod = half_ * half_;
  for (uint32_t d = 0; d < hosts(); ++d) {
    const ns3::Ipv4Address destination = address(d);
    const uint32_t pod = d / per_pod, edge = d / half_;
    const uint32_t a = options_.one_way_up ? 0 : d % half_, c = options_.one_way_up ? 0 : d / half_ % half_;
    for (uint32_t h = 0; h < hosts(); ++h) host_routing_[h]->add(destination, 1);
    for (uint32_t e = 0; e < edges_.size(); ++e)
      edges_[e].routing->add(destination, e == edge ? edges_[e].down[d % half_] : edges_[e].up[a]);
    for (uint32_t n = 0; n < aggregations_.size(); ++n)
      aggregations_[n].routing->add(destination,
                                    n / half_ == pod ? aggregations_[n].down[edge % half_] : aggregations_[n].up[c]);
    for (Switch& core : cores_) core.routing->add(destination, core.down[pod]);
  }
}

void FatTree::detour(uint32_t edge_switch, uint32_t to_host, uint32_t aggregation_port, double share) {
  Switch& edge = edges_.at(edge_switch - 100);
  edge.routing->add_detour(address(to_host), edge.up.at(aggregation_port), share);
}

void FatTree::lose(uint32_t switch_id, std::function<bool(ns3::Ptr<ns3::Packet>)> loses) {
  auto& level = switch_id < 200 ? edges_ : switch_id < 300 ? aggregations_ : cores_;
  const auto node = level.at(switch_id % 100).node;
  for (uint32_t i = 0; i < node->GetNDevices(); ++i) {
    const auto device = ns3::DynamicCast<ns3::PointToPointNetDevice>(node->GetDevice(i));
    if (device == nullptr) continue;
    device->SetReceiveErrorModel(ns3::CreateObject<Fault>([this, switch_id, loses](ns3::Ptr<ns3::Packet> packet) {
      const auto bare = packet->Copy();
      ns3::PppHeader ppp;
      bare->RemoveHeader(ppp);
      if (!loses(bare)) return false;
      on_drop_(switch_id, bare);
      return true;
    }));
  }
}

}  // namespace tapline::packets
