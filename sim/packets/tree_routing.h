// Forwards a tree node's packets, through one interface for each destination. Detours, whether configured or caused by
// a fault, divert a fraction of the packets to another interface.
#pragma once

#include <ns3/ipv4-routing-protocol.h>
#include <ns3/ipv4.h>
#include <ns3/random-variable-stream.h>

#include <map>

namespace tapline::packets {

class TreeRouting final : public ns3::Ipv4RoutingProtocol {
 public:
  static ns3::TypeId GetTypeId();

  void add(ns3::Ipv4Address destination, uint32_t interface) { routes_[destination] = interface; }
  // Sends a random fraction `share` of the destination's packets through this interface instead.
  void add_detour(ns3::Ipv4Address destination, uint32_t interface, double share);

  // Makes each packet wait for a random time of up to `max_ns` before it is sent on. Packets leaving through one
  // interface keep their order.
  void set_processing(uint64_t max_ns);

  ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet> packet, const ns3::Ipv4Header& header,
                                       ns3::Ptr<ns3::NetDevice> device, ns3::Socket::SocketErrno& error) override;
  bool RouteInput(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header& header,
                  ns3::Ptr<const ns3::NetDevice> device, UnicastForwardCallback forward, MulticastForwardCallback,
                  LocalDeliverCallback deliver, ErrorCallback fail) override;
  void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override { ipv4_ = ipv4; }
  void NotifyInterfaceUp(uint32_t) override {}
  void NotifyInterfaceDown(uint32_t) override {}
  void NotifyAddAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
  void NotifyRemoveAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
  void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper>, ns3::Time::Unit) const override {}

 private:
  struct Detour {
    uint32_t interface;
    double share;
  };

  ns3::Ptr<ns3::Ipv4Route> to(ns3::Ipv4Address destination);

  ns3::Ptr<ns3::Ipv4> ipv4_;
  std::map<ns3::Ipv4Address, uint32_t> routes_;
  std::map<ns3::Ipv4Address, Detour> detours_;
  ns3::Ptr<ns3::UniformRandomVariable> random_;
  uint64_t processing_ns_ = 0;
  // The time at which each interface's last packet was, or will be, sent on.
  std::map<uint32_t, ns3::Time> sent_on_;
};

}  // namespace tapline::packets
