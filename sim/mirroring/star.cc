#include "sim/mirroring/star.h"

#include <ns3/core-module.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-list-routing.h>
#include <ns3/ipv4-static-routing.h>
#include <ns3/ipv4.h>
#include <ns3/point-to-point-channel.h>
#include <ns3/ppp-header.h>
#include <ns3/tcp-header.h>
#include <ns3/udp-header.h>

#include <algorithm>

#include "sim/mirroring/switch_queue.h"

namespace tapline::mirroring {
namespace {

using ns3::Ptr;

constexpr uint32_t kPppBytes = 2;
constexpr uint32_t kEthernetBytes = 14, kCheckBytes = 4, kPreambleAndGapBytes = 20;
constexpr uint32_t kMinFrameBytes = 60;
constexpr uint16_t kIpv4 = 0x0800;
constexpr uint32_t kHostQueuePackets = 20'000;

int64_t now_ns() { return ns3::Simulator::Now().GetNanoSeconds(); }

// Marks a packet with its index in Observation::sent.
class NumberTag final : public ns3::Tag {
 public:
  static ns3::TypeId GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("tapline::NumberTag").SetParent<ns3::Tag>().AddConstructor<NumberTag>();
    return id;
  }
  NumberTag() = default;
  explicit NumberTag(uint32_t number) : number(number) {}
  ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
  uint32_t GetSerializedSize() const override { return sizeof(number); }
  void Serialize(ns3::TagBuffer buffer) const override { buffer.WriteU32(number); }
  void Deserialize(ns3::TagBuffer buffer) override { number = buffer.ReadU32(); }
  void Print(std::ostream& out) const override { out << number; }

  uint32_t number = 0;
};

uint32_t number_of(Ptr<const ns3::Packet> packet) {
  NumberTag tag;
  packet->PeekPacketTag(tag);
  return tag.number;
}

// Sets TCP parameters to those in `options`, and all others to the defaults of current Linux kernels.
void set_defaults(const StarOptions& options) {
  namespace Config = ns3::Config;
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", ns3::StringValue("ns3::TcpCubic"));
  Config::SetDefault("ns3::TcpCubic::HyStart", ns3::BooleanValue(options.hystart));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(1448));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", ns3::UintegerValue(options.window_bytes));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", ns3::UintegerValue(options.window_bytes));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", ns3::UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::TcpNoDelay", ns3::BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", ns3::TimeValue(ns3::MilliSeconds(200)));
}

SentPacket read(Ptr<const ns3::Packet> packet) {
  const auto rest = packet->Copy();
  ns3::PppHeader ppp;
  ns3::Ipv4Header ip;
  rest->RemoveHeader(ppp);
  rest->RemoveHeader(ip);
  SentPacket read;
  read.wire_bytes = std::max(packet->GetSize() - kPppBytes + kEthernetBytes, kMinFrameBytes);
  uint16_t source_port = 0, to = 0;
  if (ip.GetProtocol() == 17) {
    ns3::UdpHeader udp;
    rest->RemoveHeader(udp);
    read.udp = true;
    source_port = udp.GetSourcePort(), to = udp.GetDestinationPort();
  } else {
    ns3::TcpHeader tcp;
    rest->RemoveHeader(tcp);
    read.syn = (tcp.GetFlags() & ns3::TcpHeader::SYN) != 0;
    read.fin = (tcp.GetFlags() & ns3::TcpHeader::FIN) != 0;
    read.has_ack = (tcp.GetFlags() & ns3::TcpHeader::ACK) != 0;
    read.seq = tcp.GetSequenceNumber().GetValue();
    read.ack = tcp.GetAckNumber().GetValue();
    source_port = tcp.GetSourcePort(), to = tcp.GetDestinationPort();
  }
  read.payload_bytes = rest->GetSize();
  // Clients' ports are in RFC 6335's dynamic range, above all servers' ports.
  read.from_server = source_port < to;
  read.flow = std::min(source_port, to) - kFirstPort;
  return read;
}

}  // namespace

bool SwitchQueue::Enqueue(Ptr<ns3::Packet> packet) {
  const uint32_t bytes = std::max(packet->GetSize() - kPppBytes + kEthernetBytes, kMinFrameBytes) + kCheckBytes;
  const bool admitted = queue_->enqueue(input_, packet, bytes) == Admission::kAdmitted;
  if (first_drop_ns_ < 0 && account().dropped() > 0) first_drop_ns_ = now_ns();
  return admitted;
}

Ptr<ns3::Packet> SwitchQueue::Dequeue() {
  Ptr<ns3::Packet> packet;
  return queue_->dequeue(&packet) ? packet : nullptr;
}

Star::Star(const StarOptions& options)
    : options_(options), buffer_(options.buffer_bytes, options.alpha), switch_(ns3::CreateObject<ns3::Node>()) {
  set_defaults(options);
  for (uint32_t n = 0; n < options.hosts; ++n) add_host(n);
  if (options.mirrored) add_collector();
}

Star::~Star() = default;

int64_t Star::path_ns() const {
  return options_.host_delay_ns + options_.collector_delay_ns +
         static_cast<int64_t>(2 * 1538 * 8e9 / static_cast<double>(options_.bits_per_second));
}

Ptr<SwitchQueue> Star::make_queue(Schedule schedule, uint64_t limit_bytes) {
  auto queue = ns3::CreateObject<SwitchQueue>();
  queue->set_queue(SwitchQueue::Ports(&buffer_, schedule, options_.hosts, limit_bytes));
  return queue;
}

// Connects a node with a port of the switch.
Ptr<ns3::PointToPointNetDevice> Star::link(Ptr<ns3::Node> node, Ptr<SwitchQueue> queue, int64_t delay_ns,
                                           Ptr<ns3::PointToPointNetDevice>* at_node) {
  auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
  channel->SetAttribute("Delay", ns3::TimeValue(ns3::NanoSeconds(delay_ns)));
  const auto add = [&](Ptr<ns3::Node> peer_node, Ptr<ns3::Queue<ns3::Packet>> packets) {
    auto device = ns3::CreateObject<ns3::PointToPointNetDevice>();
    device->SetAddress(ns3::Mac48Address::Allocate());
    device->SetDataRate(ns3::DataRate(options_.bits_per_second));
    // A PPP header is smaller than Ethernet's overhead.
    const double missing = kEthernetBytes + kCheckBytes + kPreambleAndGapBytes - kPppBytes;
    device->SetInterframeGap(
        ns3::NanoSeconds(static_cast<uint64_t>(missing * 8e9 / static_cast<double>(options_.bits_per_second) + 0.5)));
    device->SetQueue(packets);
    peer_node->AddDevice(device);
    device->Attach(channel);
    return device;
  };
  auto packets = ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>();
  packets->SetMaxSize(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, kHostQueuePackets));
  *at_node = add(node, packets);
  return add(switch_, queue);
}

void Star::add_host(uint32_t n) {
  auto node = ns3::CreateObject<ns3::Node>();
  ns3::InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  stack.Install(node);
  auto random = ns3::CreateObject<ns3::UniformRandomVariable>();
  const auto more_ns = static_cast<int64_t>(random->GetValue(0, static_cast<double>(options_.jitter_ns)));
  Ptr<ns3::PointToPointNetDevice> device;
  queues_.push_back(make_queue(Schedule::kFifo, SwitchQueue::Ports::kNoLimit));
  ports_.push_back(link(node, queues_.back(), options_.host_delay_ns + more_ns, &device));
  const auto ipv4 = node->GetObject<ns3::Ipv4>();
  const uint32_t interface = ipv4->AddInterface(device);
  ipv4->AddAddress(interface, ns3::Ipv4InterfaceAddress(address(n), ns3::Ipv4Mask("255.0.0.0")));
  ipv4->SetUp(interface);
  hosts_.push_back(node);
  device->TraceConnectWithoutContext("PhyTxBegin", ns3::Callback<void, Ptr<const ns3::Packet>>(&Star::sent, this));
  device->TraceConnectWithoutContext("PhyRxEnd", ns3::Callback<void, Ptr<const ns3::Packet>>(&Star::received, this));
  ports_.back()->SetReceiveCallback(
      ns3::Callback<bool, Ptr<ns3::NetDevice>, Ptr<const ns3::Packet>, uint16_t, const ns3::Address&>(
          [this, n](Ptr<ns3::NetDevice>, Ptr<const ns3::Packet> packet, uint16_t, const ns3::Address&) {
            return forward(n, packet);
          }));
}

void Star::add_collector() {
  Ptr<ns3::PointToPointNetDevice> device;
  mirror_queue_ = make_queue(options_.schedule, options_.mirror_limit_bytes);
  mirror_port_ = link(ns3::CreateObject<ns3::Node>(), mirror_queue_, options_.collector_delay_ns, &device);
  device->TraceConnectWithoutContext("PhyRxEnd", ns3::Callback<void, Ptr<const ns3::Packet>>(&Star::collected, this));
}

bool Star::forward(uint32_t input, Ptr<const ns3::Packet> packet) {
  ns3::Ipv4Header ip;
  packet->PeekHeader(ip);
  const uint32_t output = ip.GetDestination().Get() - address(0).Get();
  if (output >= ports_.size()) return false;
  queues_[output]->set_input(input);
  ports_[output]->Send(packet->Copy(), ports_[output]->GetBroadcast(), kIpv4);
  if (mirror_port_ == nullptr) return true;
  mirror_queue_->set_input(input);
  mirror_port_->Send(packet->Copy(), mirror_port_->GetBroadcast(), kIpv4);
  return true;
}

void Star::sent(Ptr<const ns3::Packet> packet) {
  SentPacket sent = read(packet);
  sent.sent_ns = now_ns();
  const size_t side = sent.flow * 2 + sent.from_server;
  if (side >= sent_bytes_.size()) sent_bytes_.resize(side + 2, 0);
  sent.sent_before = sent_bytes_[side];
  sent_bytes_[side] += sent.wire_bytes;
  const auto mutable_packet = ns3::ConstCast<ns3::Packet>(packet);
  NumberTag old_tag;
  mutable_packet->RemovePacketTag(old_tag);
  mutable_packet->AddPacketTag(NumberTag(static_cast<uint32_t>(seen_.sent.size())));
  seen_.sent.push_back(sent);
}

void Star::received(Ptr<const ns3::Packet> packet) { seen_.sent[number_of(packet)].received_ns = now_ns(); }

void Star::collected(Ptr<const ns3::Packet> packet) { seen_.copies.push_back({now_ns(), number_of(packet)}); }

Observation Star::observation(uint32_t flows) {
  Observation seen = std::move(seen_);
  seen.flows = flows;
  for (const auto& queue : queues_) {
    seen.forwarded += queue->account().arrived;
    seen.forwarded_dropped += queue->account().dropped();
  }
  if (mirror_queue_ == nullptr) return seen;
  seen.mirrored = mirror_queue_->account().arrived;
  seen.mirrored_dropped = mirror_queue_->account().dropped();
  seen.first_drop_ns = mirror_queue_->first_drop_ns();
  return seen;
}

}  // namespace tapline::mirroring
