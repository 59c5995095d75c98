#include "sim/mirroring/senders.h"

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>

#include <memory>

namespace tapline::mirroring {
namespace {

constexpr uint32_t kPayloadBytes = 1448;

const char* factory_of(const FlowSpec& flow) { return flow.udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory"; }

// Writes payloads of 1,448 bytes at a mean rate, with gaps that vary by up to half.
class PacedSender {
 public:
  PacedSender(ns3::Ptr<ns3::Socket> socket, const FlowSpec& spec) : socket_(socket), spec_(spec) {}

  void send() {
    const int64_t now_ns = ns3::Simulator::Now().GetNanoSeconds();
    if (now_ns >= spec_.end_ns) return;
    if (socket_->GetTxAvailable() >= kPayloadBytes) socket_->Send(ns3::Create<ns3::Packet>(kPayloadBytes));
    const double mean_ns = kPayloadBytes * 8e9 / static_cast<double>(spec_.bits_per_second);
    ns3::Simulator::Schedule(ns3::NanoSeconds(static_cast<int64_t>(mean_ns * random_->GetValue(0.5, 1.5))),
                             &PacedSender::send, this);
  }

 private:
  ns3::Ptr<ns3::Socket> socket_;
  ns3::Ptr<ns3::UniformRandomVariable> random_ = ns3::CreateObject<ns3::UniformRandomVariable>();
  FlowSpec spec_;
};

}  // namespace

Observation run(const StarOptions& options, const std::vector<FlowSpec>& flows, int64_t end_ns, uint32_t seed) {
  ns3::RngSeedManager::SetSeed(1);
  ns3::RngSeedManager::SetRun(seed);
  Star star(options);
  std::vector<std::unique_ptr<PacedSender>> paced;
  for (uint32_t i = 0; i < flows.size(); ++i) {
    const FlowSpec& flow = flows[i];
    const auto port = static_cast<uint16_t>(kFirstPort + i);
    const ns3::InetSocketAddress to(Star::address(flow.to), port);
    ns3::PacketSinkHelper sink(factory_of(flow), ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), port));
    sink.Install(star.host(flow.to));
    if (flow.bits_per_second == 0) {
      ns3::BulkSendHelper bulk(factory_of(flow), to);
      auto sender = bulk.Install(star.host(flow.from));
      sender.Start(ns3::NanoSeconds(flow.begin_ns));
      sender.Stop(ns3::NanoSeconds(flow.end_ns));
      continue;
    }
    const auto socket = ns3::Socket::CreateSocket(star.host(flow.from), ns3::TypeId::LookupByName(factory_of(flow)));
    paced.push_back(std::make_unique<PacedSender>(socket, flow));
    ns3::Simulator::Schedule(ns3::NanoSeconds(flow.begin_ns), [socket, to] {
      socket->Bind();
      socket->Connect(to);
    });
    ns3::Simulator::Schedule(ns3::NanoSeconds(flow.begin_ns), &PacedSender::send, paced.back().get());
  }
  ns3::Simulator::Stop(ns3::NanoSeconds(end_ns));
  ns3::Simulator::Run();
  Observation seen = star.observation(static_cast<uint32_t>(flows.size()));
  ns3::Simulator::Destroy();
  return seen;
}

}  // namespace tapline::mirroring
