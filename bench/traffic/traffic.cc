#include "bench/traffic/traffic.h"

#include <string>

namespace tapline::traffic {
namespace {

constexpr uint32_t kServer = 0xc0a80001;        // 192.168.0.1
constexpr uint32_t kKeptClients = 0x0a000000;   // 10.0.0.0/9
constexpr uint32_t kShortClients = 0x0a800000;  // 10.128.0.0/9
constexpr uint32_t kFloodClients = 0xac100000;  // 172.16.0.0/12
constexpr uint16_t kHttp = 80;
constexpr uint32_t kUrls = 1000;
constexpr uint16_t kResponseBytes = 500;

}  // namespace

Traffic::Traffic(const Mixture& mixture) : mixture_(mixture), random_(mixture.seed), flows_(mixture.flows) {}

size_t Traffic::Next(uint8_t* out) {
  while (true) {
    size_t bytes = MakeOne(out);
    ++counts_.made;
    if (!Chance(mixture_.loss)) return bytes;
    ++counts_.lost;
  }
}

size_t Traffic::MakeOne(uint8_t* out) {
  bool ramp = !all_flows_begun();
  double which = Random() / 4294967296.0 * (ramp ? 4 : 1);
  if (which < mixture_.flood) return Flood(out);
  bool is_short = which < mixture_.flood + mixture_.churn || flows_.empty();
  Exchange& exchange = is_short ? short_ : kept_;
  if (exchange.done()) is_short ? BeginShort() : BeginKept();
  return Continue(&exchange, out);
}

size_t Traffic::Flood(uint8_t* out) {
  ++counts_.flood;
  End from = {kFloodClients | (Random() & 0xfffff), static_cast<uint16_t>(1024 + Random() % 64000)};
  return WriteFrame(from, {kServer, kHttp}, Random(), 0, kSyn, {}, out);
}

void Traffic::AddHandshake(Exchange* exchange) {
  ++counts_.connections;
  *exchange->flow = {Random(), Random()};
  exchange->segments[exchange->count++] = {true, kSyn, 0};
  exchange->segments[exchange->count++] = {false, kSyn | kAck, 0};
  exchange->segments[exchange->count++] = {true, kAck, 0};
}

void Traffic::AddTransaction(Exchange* exchange) {
  ++counts_.transactions;
  exchange->segments[exchange->count++] = {true, kPsh | kAck, 1};
  exchange->segments[exchange->count++] = {false, kPsh | kAck, kResponseBytes};
}

void Traffic::BeginKept() {
  size_t index = next_flow_;
  next_flow_ = (next_flow_ + 1) % flows_.size();
  kept_.client = {kKeptClients | static_cast<uint32_t>(index / 60000), static_cast<uint16_t>(1024 + index % 60000)};
  kept_.server = {kServer, kHttp};
  kept_.flow = &flows_[index];
  kept_.count = kept_.next = 0;
  if (begun_ <= index) {
    begun_ = index + 1;
    AddHandshake(&kept_);
  } else {
    AddTransaction(&kept_);
  }
}

void Traffic::BeginShort() {
  uint32_t index = short_connections_++;
  short_.client = {kShortClients | (index / 60000 & 0x7fffff), static_cast<uint16_t>(1024 + index % 60000)};
  short_.server = {kServer, kHttp};
  short_.flow = &short_.own_flow;
  short_.count = short_.next = 0;
  AddHandshake(&short_);
  AddTransaction(&short_);
  for (bool from_client : {true, false}) short_.segments[short_.count++] = {from_client, kFin | kAck, 0};
  short_.segments[short_.count++] = {true, kAck, 0};
}

std::string_view Traffic::Payload(const Segment& segment, const Exchange& exchange) {
  if (segment.payload_bytes == 0) return {};
  if (segment.from_client) {
    payload_ = "GET /u" + std::to_string((exchange.client.port * 7919u + exchange.flow->client_sequence) % kUrls) +
               " HTTP/1.1\r\nHost: traffic.example\r\n\r\n";
  } else {
    payload_ = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(segment.payload_bytes) + "\r\n\r\n";
    payload_.append(segment.payload_bytes, 'x');
  }
  return payload_;
}

size_t Traffic::Continue(Exchange* exchange, uint8_t* out) {
  const Segment& segment = exchange->segments[exchange->next++];
  Flow& flow = *exchange->flow;
  const End& from = segment.from_client ? exchange->client : exchange->server;
  const End& to = segment.from_client ? exchange->server : exchange->client;
  uint32_t& sequence = segment.from_client ? flow.client_sequence : flow.server_sequence;
  uint32_t acknowledgement = segment.from_client ? flow.server_sequence : flow.client_sequence;
  std::string_view payload = Payload(segment, *exchange);
  size_t bytes =
      WriteFrame(from, to, sequence, segment.flags & kAck ? acknowledgement : 0, segment.flags, payload, out);
  sequence += static_cast<uint32_t>(payload.size()) + ((segment.flags & (kSyn | kFin)) != 0);
  return bytes;
}

}  // namespace tapline::traffic
