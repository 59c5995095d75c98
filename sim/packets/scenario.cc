#include "sim/packets/scenario.h"

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/ipv4-l3-protocol.h>
#include <ns3/tcp-header.h>

#include <fstream>
#include <sstream>

namespace tapline::packets {
namespace {

constexpr uint16_t kFirstPort = 5000;
constexpr uint32_t kSegmentBytes = 1448;

std::string Endpoint(ns3::Ipv4Address address, uint16_t port) {
  std::ostringstream text;
  text << address << ':' << port;
  return text.str();
}

std::vector<FlowSpec> named(std::vector<FlowSpec> flows, const FatTree& tree) {
  for (size_t i = 0; i < flows.size(); ++i)
    flows[i].destination = Endpoint(tree.address(flows[i].to), static_cast<uint16_t>(kFirstPort + i));
  return flows;
}

// Sets TCP parameters to the defaults of current Linux kernels, except for the window, the minimum timeout and the
// timeout of SYNs.
void set_defaults(uint32_t window_bytes, uint32_t min_timeout_ms) {
  namespace Config = ns3::Config;
  ns3::GlobalValue::Bind("ChecksumEnabled", ns3::BooleanValue(true));
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", ns3::StringValue("ns3::TcpLinuxReno"));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(kSegmentBytes));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", ns3::UintegerValue(window_bytes));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", ns3::UintegerValue(window_bytes));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", ns3::TimeValue(ns3::MilliSeconds(min_timeout_ms)));
  Config::SetDefault("ns3::TcpSocket::DataRetries", ns3::UintegerValue(15));
  // If the first SYNs were lost, the default timeout of 3 s would be too long.
  Config::SetDefault("ns3::TcpSocket::ConnTimeout", ns3::TimeValue(ns3::MilliSeconds(50)));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", ns3::UintegerValue(10));
}

}  // namespace

Run::Run(const Scenario& scenario, const std::string& folder)
    : scenario_(scenario), folder_(folder), truth_({}), sent_(scenario.flows.size(), 0) {
  set_defaults(scenario.window_bytes, scenario.min_timeout_ms);
  ns3::RngSeedManager::SetSeed(1);
  tree_ = std::make_unique<FatTree>(scenario.tree, [this](uint32_t switch_id, ns3::Ptr<const ns3::Packet> packet) {
    Segment segment;
    if (read(packet, &segment) && segment.payload_bytes > 0) truth_.dropped(switch_id, segment.flow, segment.seq);
  });
  truth_ = Truth(named(scenario.flows, *tree_));
  for (size_t i = 0; i < scenario.flows.size(); ++i) {
    listen(scenario.flows[i].to);
    connect(i);
  }
  if (scenario.prepare) scenario.prepare(tree_.get());
}

void Run::listen(uint32_t host) {
  if (captures_.count(host) > 0) return;
  captures_[host] = std::make_unique<CaptureFile>(folder_ + "/h" + std::to_string(host) + ".pcap");
  tree_->host(host)->GetObject<ns3::Ipv4L3Protocol>()->TraceConnectWithoutContext(
      "Rx",
      ns3::Callback<void, ns3::Ptr<const ns3::Packet>, ns3::Ptr<ns3::Ipv4>, uint32_t>(
          [this, host](ns3::Ptr<const ns3::Packet> packet, ns3::Ptr<ns3::Ipv4>, uint32_t) { received(host, packet); }));
}

void Run::connect(size_t flow) {
  const FlowSpec& spec = scenario_.flows[flow];
  const auto port = static_cast<uint16_t>(kFirstPort + flow);
  ns3::PacketSinkHelper sink("ns3::TcpSocketFactory", ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), port));
  sink.Install(tree_->host(spec.to));
  ns3::InetSocketAddress to(tree_->address(spec.to), port);
  to.SetTos(spec.tos);
  ns3::ApplicationContainer sender;
  if (spec.bits_per_second == 0) {
    ns3::BulkSendHelper bulk("ns3::TcpSocketFactory", to);
    sender = bulk.Install(tree_->host(spec.from));
  } else {
    ns3::OnOffHelper paced("ns3::TcpSocketFactory", to);
    paced.SetConstantRate(ns3::DataRate(spec.bits_per_second), kSegmentBytes);
    sender = paced.Install(tree_->host(spec.from));
  }
  sender.Start(ns3::Seconds(spec.start_s));
  sender.Stop(ns3::Seconds(spec.stop_s));
  tree_->host(spec.from)->GetObject<ns3::Ipv4L3Protocol>()->TraceConnectWithoutContext(
      "SendOutgoing", ns3::Callback<void, const ns3::Ipv4Header&, ns3::Ptr<const ns3::Packet>, uint32_t>(
                          [this, flow](const ns3::Ipv4Header& ip, ns3::Ptr<const ns3::Packet> packet, uint32_t) {
                            const auto whole = packet->Copy();
                            whole->AddHeader(ip);
                            Segment segment;
                            if (read(whole, &segment) && segment.flow == flow) sent(segment, packet);
                          }));
}

bool Run::read(ns3::Ptr<const ns3::Packet> packet, Segment* segment) {
  const auto rest = packet->Copy();
  ns3::Ipv4Header ip;
  ns3::TcpHeader tcp;
  rest->RemoveHeader(ip);
  rest->RemoveHeader(tcp);
  const size_t flow = size_t{tcp.GetDestinationPort()} - kFirstPort;
  if (tcp.GetDestinationPort() < kFirstPort || flow >= scenario_.flows.size()) return false;
  *segment = {flow, tcp.GetSequenceNumber().GetValue(), rest->GetSize()};
  truth_.set_source(flow, Endpoint(ip.GetSource(), tcp.GetSourcePort()));
  return true;
}

void Run::sent(const Segment& segment, ns3::Ptr<const ns3::Packet> packet) {
  uint32_t& never_sent = sent_[segment.flow];
  TelemetryTag tag;
  tag.retransmitted = segment.payload_bytes > 0 && segment.seq < never_sent;
  never_sent = std::max(never_sent, segment.seq + segment.payload_bytes);
  const auto mutable_packet = ns3::ConstCast<ns3::Packet>(packet);
  TelemetryTag old_tag;
  mutable_packet->RemovePacketTag(old_tag);
  mutable_packet->AddPacketTag(tag);
}

void Run::received(uint32_t host, ns3::Ptr<const ns3::Packet> packet) {
  TelemetryTag tag;
  packet->PeekPacketTag(tag);
  Segment segment;
  if (!read(packet, &segment)) return;
  captures_[host]->write(static_cast<uint64_t>(ns3::Simulator::Now().GetNanoSeconds()), packet, tag.hops);
  truth_.captured(host);
  if (segment.payload_bytes > 0) truth_.delivered(segment.flow, tag, segment.payload_bytes);
}

void Run::execute() {
  ns3::Simulator::Stop(ns3::Seconds(scenario_.seconds));
  ns3::Simulator::Run();
  captures_.clear();
  std::ofstream(folder_ + "/truth.json") << truth_.text(scenario_.name, scenario_.tree.link_bits_per_second,
                                                        scenario_.tree.queue_packets);
  ns3::Simulator::Destroy();
}

}  // namespace tapline::packets
