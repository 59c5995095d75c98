#include "sim/packets/tree_routing.h"

#include <ns3/ipv4-route.h>
#include <ns3/net-device.h>
#include <ns3/simulator.h>

#include <algorithm>

namespace tapline::packets {

NS_OBJECT_ENSURE_REGISTERED(TreeRouting);

ns3::TypeId TreeRouting::GetTypeId() {
  static const ns3::TypeId id =
      ns3::TypeId("tapline::TreeRouting").SetParent<ns3::Ipv4RoutingProtocol>().AddConstructor<TreeRouting>();
  return id;
}

void TreeRouting::add_detour(ns3::Ipv4Address destination, uint32_t interface, double share) {
  if (random_ == nullptr) random_ = ns3::CreateObject<ns3::UniformRandomVariable>();
  detours_[destination] = {interface, share};
}

void TreeRouting::set_processing(uint64_t max_ns) {
  if (random_ == nullptr) random_ = ns3::CreateObject<ns3::UniformRandomVariable>();
  processing_ns_ = max_ns;
}

ns3::Ptr<ns3::Ipv4Route> TreeRouting::to(ns3::Ipv4Address destination) {
  const auto it = routes_.find(destination);
  if (it == routes_.end()) return nullptr;
  uint32_t interface = it->second;
  if (const auto detour = detours_.find(destination);
      detour != detours_.end() && random_->GetValue() < detour->second.share)
    interface = detour->second.interface;
  auto route = ns3::Create<ns3::Ipv4Route>();
  route->SetDestination(destination);
  route->SetSource(ipv4_->GetAddress(interface, 0).GetLocal());
  route->SetGateway(ns3::Ipv4Address::GetZero());
  route->SetOutputDevice(ipv4_->GetNetDevice(interface));
  return route;
}

ns3::Ptr<ns3::Ipv4Route> TreeRouting::RouteOutput(ns3::Ptr<ns3::Packet>, const ns3::Ipv4Header& header,
                                                  ns3::Ptr<ns3::NetDevice>, ns3::Socket::SocketErrno& error) {
  auto route = to(header.GetDestination());
  error = route == nullptr ? ns3::Socket::ERROR_NOROUTETOHOST : ns3::Socket::ERROR_NOTERROR;
  return route;
}

bool TreeRouting::RouteInput(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header& header,
                             ns3::Ptr<const ns3::NetDevice> device, UnicastForwardCallback forward,
                             MulticastForwardCallback, LocalDeliverCallback deliver, ErrorCallback fail) {
  const auto interface = static_cast<uint32_t>(ipv4_->GetInterfaceForDevice(device));
  if (ipv4_->IsDestinationAddress(header.GetDestination(), interface)) {
    deliver(packet, header, interface);
    return true;
  }
  const auto route = to(header.GetDestination());
  if (route == nullptr) {
    fail(packet, header, ns3::Socket::ERROR_NOROUTETOHOST);
    return false;
  }
  if (processing_ns_ == 0) {
    forward(route, packet, header);
    return true;
  }
  const ns3::Time now = ns3::Simulator::Now();
  const auto waits_ns = static_cast<uint64_t>(random_->GetValue(0, static_cast<double>(processing_ns_)));
  ns3::Time& sent = sent_on_[interface];
  sent = std::max(sent, now + ns3::NanoSeconds(waits_ns));
  ns3::Simulator::Schedule(sent - now, [forward, route, packet, header]() mutable { forward(route, packet, header); });
  return true;
}

}  // namespace tapline::packets
